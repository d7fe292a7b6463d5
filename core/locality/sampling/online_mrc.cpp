#include "core/locality/sampling/online_mrc.hpp"

#include <algorithm>
#include <utility>

namespace mcsim {
namespace {

__extension__ using Wide = unsigned __int128;

// The square root of w (w - 1) for a weight w of at least `one`. Newton's method starts above the
// root and stops when its steps no longer decrease.
std::uint64_t spread_of(std::uint64_t weight, std::uint64_t one) {
  std::uint64_t root = weight - one / 2;
  if (weight >= 256 * one) return root;
  const std::uint64_t square = weight * (weight - one);
  while (root > 0 && square / root < root) root = (root + square / root) / 2;
  return root;
}

}  // namespace

OnlineMrc::OnlineMrc(std::size_t max_blocks, std::uint64_t seed, std::size_t hot_blocks,
                     double initial_rate)
    : max_blocks_(max_blocks),
      filter_(initial_rate, seed),
      // HashSample has no room for the highest hash.
      initial_threshold_(std::min(filter_.limit(), HashSample::kNone - 1) + 1),
      sample_(max_blocks + 1, initial_threshold_),
      slots_(kSlotsPerBlock * max_blocks),
      hot_(hot_blocks),
      histogram_(kBinCount),
      reference_sample_(seed),
      survivors_(kBatch) {
  start();
}

void OnlineMrc::start() {
  sample_below(initial_threshold_);
  weight_before_ = weight_;
}

void OnlineMrc::clear() {
  start();
  rate_fell_in_batch_ = ~std::uint64_t{0};
  sample_.clear();
  slots_.fill();
  used_ = 0;
  hot_.clear();
  std::fill(histogram_.begin(), histogram_.end(), 0);
  groups_.clear();
  reference_sample_.clear();
  cold_ = total_ = references_ = 0;
}

void OnlineMrc::process(std::span<const std::uint64_t> keys) {
  if (hot_.enabled()) {
    for (const std::uint64_t key : keys) process(key);
    return;
  }
  while (!keys.empty()) {
    const auto batch = keys.first(std::min(keys.size(), kBatch - references_ % kBatch));
    while (reference_sample_.next() - references_ < batch.size()) {
      sample_reference(filter_.hash(batch[reference_sample_.next() - references_]));
    }
    const std::size_t count = filter_.select(batch, survivors_);
    for (std::size_t i = 0; i < count; ++i) {
      // The limit may have fallen within the batch.
      const std::uint64_t hash = filter_.hash(survivors_[i]);
      if (hash <= filter_.limit()) sampled(hash);
    }
    references_ += batch.size();
    keys = keys.subspan(batch.size());
  }
}

void OnlineMrc::sample_reference(std::uint64_t hash) {
  // Hot blocks are counted fully; only the unevenness of the other blocks matters.
  const bool is_hot = hot_.enabled() && hot_.find(hash) != nullptr;
  const std::uint64_t weight =
      rate_fell_in_batch_ == references_ / kBatch ? weight_before_ : weight_;
  reference_sample_.keep(hash,
                         is_hot ? 0 : weight >> (kFractionBits - ReferenceSample::kFractionBits));
}

void OnlineMrc::sampled(std::uint64_t hash) {
  const std::uint32_t now = next_slot();
  const std::size_t at = sample_.find(hash);
  if (sample_.holds(at, hash)) {
    groups_.add_hit(hash, add_hit(touch(at, now), weight_), spread_);
    return;
  }
  total_ += weight_;
  cold_ += weight_;
  groups_.add_cold(hash, spread_);
  sample_.insert(at, hash, now);
  if (sample_.size() > max_blocks_) evict_highest();
}

std::uint64_t OnlineMrc::touch(std::size_t at, std::uint32_t now) {
  const std::uint32_t before = std::exchange(sample_.time(at), now);
  const std::uint64_t distance = sample_.size() - slots_.rank(before);
  slots_.clear(before);
  return distance;
}

std::uint64_t OnlineMrc::add_hit(std::uint64_t distance, std::uint64_t weight) {
  // unsampled_capacity(distance, rate), rounded down.
  const std::uint64_t capacity = ((2 * distance + 1) * weight_ + kOne) >> (kFractionBits + 1);
  histogram_[kBins.index(std::min(capacity, kMostCapacity))] += weight;
  total_ += weight;
  return capacity;
}

void OnlineMrc::process_with_hot(std::uint64_t hash) {
  if (std::uint32_t* time = hot_.find(hash)) {
    hot(hash, *time);
    return;
  }
  if (hash <= filter_.limit()) sampled(hash);
  hot_.consider(hash, used_);
}

void OnlineMrc::hot(std::uint64_t hash, std::uint32_t& time) {
  if (hash <= filter_.limit()) {
    const std::uint32_t now = next_slot();
    add_hit(touch(sample_.find(hash), now), kOne);
  } else {
    add_hit(sample_.size() - before(time), kOne);
  }
  time = used_;
}

std::uint32_t OnlineMrc::next_slot() {
  if (used_ == slots_.size()) compact();
  return used_++;
}

void OnlineMrc::evict_highest() {
  const std::uint64_t threshold = sample_.highest();
  slots_.clear(sample_.highest_time());
  sample_.pop_highest();
  if (rate_fell_in_batch_ != references_ / kBatch) weight_before_ = weight_;
  rate_fell_in_batch_ = references_ / kBatch;
  sample_below(threshold);
}

void OnlineMrc::sample_below(std::uint64_t threshold) {
  filter_.lower_limit(threshold - 1);
  // 2^64 / threshold, rounded to the nearest, and small enough that its product with a distance
  // fits in 64 bits.
  const Wide weight = ((Wide{1} << (64 + kFractionBits)) + threshold / 2) / threshold;
  weight_ = static_cast<std::uint64_t>(std::min<Wide>(weight, (Wide{1} << 61) / max_blocks_));
  spread_ = spread_of(weight_, kOne);
}

void OnlineMrc::compact() {
  sample_.renumber_times([&](std::uint32_t slot) { return slots_.rank(slot) - 1; });
  hot_.renumber_times([&](std::uint32_t slot) { return before(slot); });
  used_ = static_cast<std::uint32_t>(sample_.size());
  slots_.fill();
}

CurveEstimate OnlineMrc::curve(Correction correction) const {
  SampledCounts counts{.references = sampled_references(),
                       .distinct = distinct(),
                       .accesses = static_cast<double>(references_),
                       .rate = rate(),
                       .unit = unscaled(1)};
  std::uint64_t hits = 0;
  for (std::size_t bin = 0; bin < histogram_.size(); ++bin) {
    if (histogram_[bin] == 0) continue;
    hits += histogram_[bin];
    counts.steps.push_back({.capacity = kBins.middle(bin),
                            .earliest = static_cast<double>(kBins.lowest(bin)),
                            .latest = static_cast<double>(kBins.highest(bin)),
                            .hits = unscaled(hits)});
  }
  return sampled_curve(counts, groups_, reference_sample_, correction);
}

std::size_t OnlineMrc::bytes() const {
  return sizeof *this + sample_.bytes() + slots_.bytes() + hot_.bytes() + groups_.bytes() +
         reference_sample_.bytes() +
         (histogram_.size() + survivors_.size()) * sizeof(std::uint64_t);
}

}  // namespace mcsim
