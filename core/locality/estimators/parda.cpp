#include "core/locality/estimators/parda.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <utility>

namespace mcsim {
namespace {

constexpr std::size_t kLeastSegment = std::size_t{1} << 22;
constexpr int kSketchPrecision = 14;  // standard error 0.8 %

// Both have the same limit, so merging can only fail for lack of memory.
PartialDistances merged(const PartialDistances& left, const PartialDistances& right) {
  auto both = merge(left, right);
  if (!both.ok()) throw std::bad_alloc();  // GuardedEstimator turns it into a status
  return *std::move(both);
}

}  // namespace

PardaEstimator::PardaEstimator(Params params, EstimatorContext context)
    : limit_(params.limit),
      threads_(static_cast<std::size_t>(std::max(1, context.threads))),
      chunks_(params.chunks == 0 ? threads_ : static_cast<std::size_t>(params.chunks)),
      done_{.limit = limit_, .resolved = {}, .first = {}, .last = {}} {
  if (limit_ > 0) blocks_.emplace(kSketchPrecision);
}

absl::Status PardaEstimator::process(const References& next) {
  if (blocks_.has_value()) {
    for (const std::uint64_t key : next.keys) blocks_->add(key);
  }
  if (serial_ || !next.discard_at.empty()) return process_serially(next);
  std::span<const std::uint64_t> keys = next.keys;
  while (!keys.empty()) {
    const std::size_t taken = std::min(keys.size(), segment() - pending_.size());
    pending_.insert(pending_.end(), keys.begin(),
                    keys.begin() + static_cast<std::ptrdiff_t>(taken));
    keys = keys.subspan(taken);
    if (pending_.size() < segment()) break;
    done_ = merged(done_, analyse_chunks(pending_));
    pending_.clear();
  }
  return absl::OkStatus();
}

absl::Status PardaEstimator::process_serially(const References& next) {
  if (!serial_) {
    done_ = so_far();
    pending_ = {};
    serial_.emplace();
    MCSIM_RETURN_IF_ERROR(serial_->process(done_.last));
  }
  return for_each_run(
      next, [&](const References& run) { return serial_->process(run.keys); },
      [&](std::uint64_t key) { serial_->discard(key); });
}

absl::StatusOr<CurveEstimate> PardaEstimator::curve() {
  if (!serial_) return exact_estimate(so_far().histogram());
  DistanceHistogram histogram = serial_->histogram();
  histogram.cold -= static_cast<Count>(done_.last.size());
  if (limit_ > 0) histogram.truncate(limit_);
  histogram.merge(done_.histogram());
  return exact_estimate(histogram);
}

double PardaEstimator::distinct() const {
  if (blocks_.has_value()) return blocks_->estimate();
  return static_cast<double>(serial_ ? static_cast<std::size_t>(serial_->distinct())
                                     : so_far().first.size());
}

std::size_t PardaEstimator::bytes() const {
  const std::size_t sketch =
      blocks_.has_value() ? std::size_t{1} << static_cast<unsigned>(blocks_->precision()) : 0;
  return sizeof *this + sketch + (serial_ ? serial_->bytes() : 0) +
         sizeof(std::uint64_t) *
             (pending_.capacity() + done_.first.capacity() + done_.last.capacity() +
              done_.resolved.distance.capacity() + done_.resolved.count.capacity());
}

std::size_t PardaEstimator::segment() const { return std::max(kLeastSegment, done_.first.size()); }

PartialDistances PardaEstimator::so_far() const { return merged(done_, analyse_chunks(pending_)); }

PartialDistances PardaEstimator::analyse_chunks(std::span<const std::uint64_t> keys) const {
  std::vector<PartialDistances> partials(chunks_);
  tbb::task_arena arena(static_cast<int>(threads_));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, chunks_, [&](std::size_t chunk) {
      const std::size_t begin = chunk * keys.size() / chunks_;
      const std::size_t end = (chunk + 1) * keys.size() / chunks_;
      partials[chunk] = analyse(keys.subspan(begin, end - begin), limit_);
    });
    // Merges neighbours pairwise; one without a neighbour is left for the next round.
    for (std::size_t step = 1; step < chunks_; step *= 2) {
      const std::size_t pairs = (chunks_ - 1 - step) / (2 * step) + 1;
      tbb::parallel_for(std::size_t{0}, pairs, [&](std::size_t pair) {
        const std::size_t left = 2 * step * pair;
        partials[left] = merged(partials[left], std::exchange(partials[left + step], {}));
      });
    }
  });
  return std::move(partials.front());
}

}  // namespace mcsim
