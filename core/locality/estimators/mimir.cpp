#include "core/locality/estimators/mimir.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/random.hpp"

namespace mcsim {

MimirEstimator::MimirEstimator(const Params& params, EstimatorContext context)
    : params_(params),
      salt_(mix64(context.seed)),
      begin_(static_cast<std::size_t>(params.buckets)),
      blocks_(begin_.size()),
      change_(1) {}

absl::Status MimirEstimator::process(const References& next) {
  for (const std::uint64_t key : next.keys) access(key);
  return absl::OkStatus();
}

void MimirEstimator::access(std::uint64_t key) {
  const auto [last, is_new] = last_.try_emplace(key, now_);
  if (!is_new) {
    hit(last->second);
    last->second = now_;
  }
  ++blocks_.back();
  if (params_.capacity > 0) remember(key);
  ++now_;
  if (blocks_.back() * params_.buckets > static_cast<Count>(last_.size())) age();
}

void MimirEstimator::hit(Count last) {
  const auto newer = static_cast<std::size_t>(
      std::upper_bound(begin_.begin() + 1, begin_.end(), last) - begin_.begin());
  Count& within = blocks_[newer - 1];
  const Count nearest =
      std::accumulate(blocks_.begin() + static_cast<std::ptrdiff_t>(newer), blocks_.end(), Count{});
  const auto from = static_cast<std::size_t>(nearest);
  const auto to = static_cast<std::size_t>(nearest + within);
  if (to >= change_.size()) change_.resize(std::max(to + 1, 2 * change_.size()));
  change_[from] += 1 / static_cast<double>(within);
  change_[to] -= 1 / static_cast<double>(within);
  --within;
  ++hits_;
}

void MimirEstimator::age() {
  const std::size_t merged = merge_at();
  const auto gap = static_cast<std::ptrdiff_t>(merged + 1);
  blocks_[merged + 1] += blocks_[merged];
  begin_[merged + 1] = begin_[merged];
  blocks_.erase(blocks_.begin() + gap - 1);
  begin_.erase(begin_.begin() + gap - 1);
  blocks_.push_back(0);
  begin_.push_back(now_);
}

std::size_t MimirEstimator::merge_at() const {
  if (params_.ageing == MimirAgeing::kRounder) return 0;
  const auto empty = std::find(blocks_.begin(), blocks_.end() - 1, 0);
  if (empty != blocks_.end() - 1) return static_cast<std::size_t>(empty - blocks_.begin());
  double sum = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    sum += static_cast<double>(k) * static_cast<double>(blocks_[k]);
  }
  const double average = std::ceil(sum / static_cast<double>(last_.size()));
  return static_cast<std::size_t>(std::max(average, 1.0)) - 1;
}

void MimirEstimator::remember(std::uint64_t key) {
  seen_.add(key ^ salt_);
  log_.emplace_back(key, now_);
  if (log_.size() > 2 * last_.size() + 64) {
    std::erase_if(log_, [&](const auto& entry) { return !is_current(entry); });
  }
  const double most = params_.ghost_factor * static_cast<double>(params_.capacity);
  while (static_cast<double>(last_.size()) > most) forget_oldest_bucket();
}

void MimirEstimator::forget_oldest_bucket() {
  const auto oldest = static_cast<std::size_t>(
      std::find_if(blocks_.begin(), blocks_.end(), [](Count n) { return n > 0; }) -
      blocks_.begin());
  // The cache holds the blocks that were referenced last, `capacity` of them.
  while (blocks_[oldest] > 0 && static_cast<Count>(last_.size()) > params_.capacity) {
    if (is_current(log_.front())) {
      last_.erase(log_.front().first);
      --blocks_[oldest];
    }
    log_.pop_front();
  }
}

bool MimirEstimator::is_current(const std::pair<std::uint64_t, Count>& entry) const {
  const auto known = last_.find(entry.first);
  return known != last_.end() && known->second == entry.second;
}

absl::StatusOr<CurveEstimate> MimirEstimator::curve() {
  CurveEstimate curve;
  curve.accesses = static_cast<double>(now_);
  double density = 0;
  double hits = 0;
  for (std::size_t distance = 0; distance < change_.size(); ++distance) {
    density += change_[distance];
    // Sums of fractions leave rounding errors instead of 0.
    if (density < 1e-9) continue;
    hits = std::min(hits + density, static_cast<double>(hits_));
    curve.capacity.push_back(static_cast<double>(distance + 1));
    curve.hits.push_back(hits);
  }
  if (!curve.hits.empty()) curve.hits.back() = static_cast<double>(hits_);
  // Blocks within the newest bucket cannot be ordered.
  const Count newest = (static_cast<Count>(last_.size()) - 1) / params_.buckets;
  curve.resolved_from = static_cast<double>(newest);
  return curve;
}

double MimirEstimator::distinct() const {
  return params_.capacity > 0 ? seen_.estimate() : static_cast<double>(last_.size());
}

std::size_t MimirEstimator::bytes() const {
  return sizeof *this + bytes_of(last_) + log_.size() * sizeof log_.front() +
         (begin_.capacity() + blocks_.capacity()) * sizeof(Count) +
         change_.capacity() * sizeof(double) + seen_.bytes();
}

}  // namespace mcsim
