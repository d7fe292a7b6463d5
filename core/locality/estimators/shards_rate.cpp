#include "core/locality/estimators/shards_rate.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

ShardsRate::ShardsRate(Params params, EstimatorContext context)
    : correction_(params.correction),
      filter_(params.rate, context.seed),
      reference_sample_(context.seed),
      survivors_(kBatch),
      survivor_distances_(kBatch) {}

absl::Status ShardsRate::process(const References& next) {
  return for_each_run(
      next, [&](const References& run) { return count_after_discards(run.keys); },
      [&](std::uint64_t key) {
        discarded_.insert(key);
        if (filter_.samples(key)) distances_.discard(key);
      });
}

absl::Status ShardsRate::count_after_discards(std::span<const std::uint64_t> keys) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < keys.size() && !discarded_.empty(); ++i) {
    if (discarded_.erase(keys[i]) == 0) continue;
    MCSIM_RETURN_IF_ERROR(count(keys.subspan(begin, i - begin)));
    begin = i + 1;
    ++after_discards_;
    if (!filter_.samples(keys[i])) continue;
    ++sampled_after_discards_;
    MCSIM_RETURN_IF_ERROR(distances_.process(keys.subspan(i, 1)));
  }
  return count(keys.subspan(begin));
}

absl::Status ShardsRate::count(std::span<const std::uint64_t> keys) {
  const auto weight =
      static_cast<std::uint64_t>(std::ldexp(1 / filter_.rate(), ReferenceSample::kFractionBits));
  while (!keys.empty()) {
    const auto batch = keys.first(std::min(keys.size(), kBatch));
    keys = keys.subspan(batch.size());
    while (reference_sample_.next() - references_ < batch.size()) {
      reference_sample_.keep(filter_.hash(batch[reference_sample_.next() - references_]), weight);
    }
    references_ += batch.size();
    const std::size_t count = filter_.select(batch, survivors_);
    const auto distances = std::span(survivor_distances_).first(count);
    MCSIM_RETURN_IF_ERROR(distances_.process(std::span(survivors_).first(count), distances));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = filter_.hash(survivors_[i]);
      if (distances[i] == kCold) {
        groups_.add_cold(hash, 1);
      } else {
        const double capacity = unsampled_capacity(distances[i], filter_.rate());
        groups_.add_hit(hash, static_cast<std::uint64_t>(capacity), 1);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CurveEstimate> ShardsRate::curve() {
  const DistanceHistogram sampled = distances_.histogram();
  const double rate = filter_.rate();
  const auto sampled_references =
      static_cast<std::uint64_t>(sampled.accesses()) - sampled_after_discards_;
  SampledCounts counts{.references = static_cast<double>(sampled_references) / rate,
                       .distinct = distinct(),
                       .accesses = static_cast<double>(references_),
                       .rate = rate,
                       .unit = std::sqrt(1 - rate) / rate};
  Count hits = 0;
  for (std::size_t i = 0; i < sampled.distance.size(); ++i) {
    hits += sampled.count[i];
    const double capacity = unsampled_capacity(sampled.distance[i], rate);
    counts.steps.push_back({.capacity = capacity,
                            .earliest = capacity,
                            .latest = capacity,
                            .hits = static_cast<double>(hits) / rate});
  }
  CurveEstimate curve = sampled_curve(counts, groups_, reference_sample_, correction_);
  curve.accesses += static_cast<double>(after_discards_);
  return curve;
}

std::size_t ShardsRate::bytes() const {
  return sizeof *this + distances_.bytes() + groups_.bytes() + reference_sample_.bytes() +
         survivors_.size() * (sizeof(std::uint64_t) + sizeof(Count)) +
         // One byte of metadata for every slot.
         discarded_.bucket_count() * (sizeof(std::uint64_t) + 1);
}

}  // namespace mcsim
