#include "core/locality/distances/parallel_distances.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/cpu_clock.hpp"
#include "core/base/pages.hpp"
#include "core/locality/distances/distance_state.hpp"
#include "core/locality/distances/parallel_loops.hpp"

namespace mcsim {
namespace {

constexpr int kMostThreads = 256;
constexpr std::size_t kSegmentPerThread = std::size_t{1} << 19;
constexpr std::size_t kMostSegment = std::size_t{1} << 24;
// Keys in a window: a thread selects its own keys of a window before it looks them up.
constexpr std::size_t kWindow = std::size_t{1} << 14;
// The minimum length of the time axis, so that slots rarely move early: 3 MB.
constexpr std::size_t kFewestSlots = std::size_t{5} << 22;
// One past the codes of all accesses.
constexpr std::uint64_t kEndOfCodes = kNoAccess;

std::uint64_t slot_of(std::uint64_t code) {
  return code / LiveSlots::kLineCodes * LiveSlots::kLineSlots + code % LiveSlots::kLineCodes;
}

// Unlike LiveSlots::code_of, also defined one past the last slot.
std::uint64_t code_of(std::uint64_t slot) {
  return slot / LiveSlots::kLineSlots * LiveSlots::kLineCodes + slot % LiveSlots::kLineSlots;
}

std::uint64_t end_of_group(std::uint64_t code) {
  return (code / LiveSlots::kGroupCodes + 1) * LiveSlots::kGroupCodes;
}

}  // namespace

class ParallelDistances::Engine {
 public:
  explicit Engine(ParallelOptions options) : options_(options), arena_(options.threads) {
    const auto threads = static_cast<std::size_t>(options.threads);
    const std::uint64_t extent = std::numeric_limits<std::uint64_t>::max() / threads;
    for (std::size_t i = 0; i < threads; ++i) {
      workers_.push_back({.hashes = {i * extent, extent - 1},
                          .bins = DistanceBins(options.distances.bin_bits),
                          .share = 1.0 / options.threads});
    }
    workers_.back().hashes.extent =
        std::numeric_limits<std::uint64_t>::max() - workers_.back().hashes.first;
  }

  absl::Status process(std::span<const std::uint64_t> keys) {
    while (!keys.empty()) {
      const std::size_t segment = segment_size();
      if (pending_.empty() && keys.size() >= segment) {
        MCSIM_RETURN_IF_ERROR(run(keys.first(segment)));
        keys = keys.subspan(segment);
        continue;
      }
      const std::size_t taken = std::min(keys.size(), segment - std::min(segment, pending_.size()));
      pending_.insert(pending_.end(), keys.begin(),
                      keys.begin() + static_cast<std::ptrdiff_t>(taken));
      keys = keys.subspan(taken);
      if (pending_.size() >= segment) MCSIM_RETURN_IF_ERROR(finish());
    }
    return absl::OkStatus();
  }

  // Counts the pending keys. Keeps their memory, because fresh pages cost as much as counting.
  absl::Status finish() {
    if (pending_.empty()) return absl::OkStatus();
    const absl::Status status = run(pending_);
    pending_.clear();
    return status;
  }

  DistanceHistogram histogram() const {
    DistanceHistogram sum;
    for (const Worker& worker : workers_) sum.merge(worker.bins.histogram(0));
    sum.cold = cold_;
    return sum;
  }

  Count distinct() const { return static_cast<Count>(axis_.distinct()); }

  std::size_t bytes() const {
    std::size_t sum = sizeof *this + pending_.capacity() * sizeof(std::uint64_t) +
                      previous_.bytes() + axis_.slots.bytes();
    for (const Worker& worker : workers_) {
      sum += sizeof worker + worker.last.bytes() + worker.keys.bytes() + worker.codes.bytes() +
             worker.bins.bytes() + worker.group_counts.bytes();
    }
    return sum;
  }

 private:
  struct Worker {
    HashRange hashes;
    BlockTable last = {};             // last accesses of the keys in the range, by code
    Pages<std::uint64_t> keys = {};   // of a window, those in the range
    Pages<std::uint32_t> codes = {};  // and their codes
    DistanceBins bins;
    double share;                            // of the accesses to count
    Pages<std::uint32_t> group_counts = {};  // instead of those of the axis
    double seconds = 0;                      // of counting the last segment
  };

  std::size_t threads() const { return workers_.size(); }

  std::size_t segment_size() const {
    if (options_.segment > 0) return options_.segment;
    return std::min(threads() * kSegmentPerThread, kMostSegment);
  }

  // Calls work(0), …, work(threads() - 1), each on its own thread.
  template <class Work>
  void for_each_worker(Work&& work) {
    arena_.execute(
        [&] { tbb::parallel_for(std::size_t{0}, threads(), work, tbb::simple_partitioner()); });
  }

  absl::Status run(std::span<const std::uint64_t> keys) {
    const std::uint64_t first_slot = make_room(keys.size());
    // As on the axis, lines begin at multiples of kLineCodes here. Codes that belong to no line
    // stay kNoAccess.
    const std::uint64_t begin = axis_.now / LiveSlots::kLineCodes * LiveSlots::kLineCodes;
    const std::uint64_t end = code_of(first_slot + keys.size());
    for_each_worker([&](std::size_t i) {
      exchange(workers_[i], keys, static_cast<std::uint32_t>(first_slot),
               static_cast<std::uint32_t>(begin));
    });
    count({previous_.data() + (axis_.now - begin), end - axis_.now});
    axis_.now = end;
    if (distinct() <= options_.distances.max_blocks) return absl::OkStatus();
    return too_many_blocks(options_.distances.max_blocks);
  }

  // Returns the slot of the first access.
  std::uint64_t make_room(std::size_t accesses) {
    const std::size_t codes = code_of(accesses) + 2 * LiveSlots::kLineCodes;
    if (previous_.size() < codes) {
      previous_.extend(codes);
      std::ranges::fill(previous_, kNoAccess);
    }
    if (slot_of(axis_.now) + accesses > axis_.slots.size()) {
      for_each_worker([&](std::size_t i) {
        with_isa([&]<Isa kIsa>() { move_key_values<kIsa>(workers_[i].last, axis_); });
      });
      const std::size_t wanted = TimeAxis::kSlotsPerBlock * static_cast<std::size_t>(distinct());
      axis_.reset_with_slots(std::max(wanted, kFewestSlots) + accesses);
    }
    return slot_of(axis_.now);
  }

  void exchange(Worker& worker, std::span<const std::uint64_t> keys, std::uint32_t first_slot,
                std::uint32_t first_code) {
    worker.keys.extend(kWindow + kSelectSlack);
    worker.codes.extend(kWindow + kSelectSlack);
    for (std::size_t i = 0; i < keys.size(); i += kWindow) {
      const auto window = keys.subspan(i, std::min(kWindow, keys.size() - i));
      const std::size_t count = with_isa([&]<Isa kIsa>() {
        return select_keys<kIsa>(window, worker.hashes, first_slot + static_cast<std::uint32_t>(i),
                                 worker.keys.data(), worker.codes.data());
      });
      worker.last.exchange({worker.keys.data(), count}, {worker.codes.data(), count}, first_code,
                           previous_.data());
    }
  }

  // Each thread counts the accesses whose previous access lies in its range of the time axis. For
  // slots cleared before the range it only needs their number, which is that of the accesses.
  void count(std::span<const std::uint32_t> codes) {
    const auto live = static_cast<std::uint32_t>(axis_.live);
    Count blocks = 0;
    for (const Worker& worker : workers_) blocks += static_cast<Count>(worker.last.size());
    axis_.live += static_cast<std::uint64_t>(blocks - cold_);
    cold_ = blocks;
    const std::vector<std::uint64_t> bounds = divide_axis(codes);
    for_each_worker([&](std::size_t i) {
      const double before = cpu_seconds();
      count_between(bounds[i], bounds[i + 1], codes, live, workers_[i]);
      workers_[i].seconds = cpu_seconds() - before;
    });
    balance();
    add_up_groups();
  }

  void count_between(std::uint64_t begin, std::uint64_t end, std::span<const std::uint32_t> codes,
                     std::uint32_t live, Worker& worker) {
    const std::span<const std::uint32_t> groups = axis_.slots.group_counts();
    if (worker.group_counts.size() != groups.size()) {
      worker.group_counts = Pages<std::uint32_t>(groups.size());
    }
    std::ranges::copy(groups, worker.group_counts.begin());
    worker.bins.make_room(axis_.distinct(), codes.size());
    if (begin == end) return;
    with_isa([&]<Isa kIsa>() {
      count_axis_range<kIsa>(axis_.slots, worker.group_counts.data(), worker.bins, codes,
                             static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - 1),
                             live);
    });
  }

  // Every thread began with the same group counts and subtracted its own part.
  void add_up_groups() {
    const std::span<std::uint32_t> groups = axis_.slots.group_counts();
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const std::uint32_t before = groups[group];
      for (const Worker& worker : workers_) groups[group] += worker.group_counts[group] - before;
    }
  }

  // Returns codes that bound the ranges. Each range has its thread's share of a sample of the
  // accesses.
  std::vector<std::uint64_t> divide_axis(std::span<const std::uint32_t> codes) const {
    constexpr std::size_t kSampled = 4096;
    std::vector<std::uint64_t> sample;
    for (std::size_t i = 0; i < codes.size(); i += codes.size() / kSampled + 1) {
      if (codes[i] != 0 && codes[i] != kNoAccess) sample.push_back(codes[i]);
    }
    std::ranges::sort(sample);
    std::vector<std::uint64_t> bounds{1};
    double share = 0;
    for (std::size_t i = 0; i + 1 < threads(); ++i) {
      share += workers_[i].share;
      const auto before = static_cast<std::size_t>(share * static_cast<double>(sample.size()));
      bounds.push_back(before < sample.size() ? end_of_group(sample[before]) : kEndOfCodes);
    }
    bounds.push_back(kEndOfCodes);
    return bounds;
  }

  // Accesses with a long reuse time cost more, and first accesses nearly nothing: a slower thread
  // gets less of the next segment. The counts do not depend on it.
  void balance() {
    double mean = 0;
    for (const Worker& worker : workers_) mean += worker.seconds / options_.threads;
    if (mean == 0) return;  // the clock is too coarse
    double sum = 0;
    for (Worker& worker : workers_) {
      worker.share *= (1 + std::clamp(mean / worker.seconds, 0.5, 2.0)) / 2;
      worker.share = std::max(worker.share, 0.1 / options_.threads);
      sum += worker.share;
    }
    for (Worker& worker : workers_) worker.share /= sum;
  }

  ParallelOptions options_;
  tbb::task_arena arena_;
  TimeAxis axis_;
  Count cold_ = 0;
  std::vector<Worker> workers_;  // by thread
  std::vector<std::uint64_t> pending_;
  Pages<std::uint32_t> previous_;  // codes of the previous accesses, by code in the segment
};

ParallelDistances::ParallelDistances(ParallelOptions options) {
  options.threads = std::clamp(options.threads, 1, kMostThreads);
  engine_ = std::make_unique<Engine>(options);
}
ParallelDistances::~ParallelDistances() = default;

absl::Status ParallelDistances::process(std::span<const std::uint64_t> keys) {
  return engine_->process(keys);
}
absl::StatusOr<DistanceHistogram> ParallelDistances::histogram() const {
  MCSIM_RETURN_IF_ERROR(engine_->finish());
  return engine_->histogram();
}
Count ParallelDistances::distinct() const {
  engine_->finish().IgnoreError();  // too many blocks are counted as well
  return engine_->distinct();
}
std::size_t ParallelDistances::bytes() const { return sizeof *this + engine_->bytes(); }

}  // namespace mcsim
