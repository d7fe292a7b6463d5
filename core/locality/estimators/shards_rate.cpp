#include "core/locality/estimators/shards_rate.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

std::uint64_t weight_at(double rate) {
  return static_cast<std::uint64_t>(std::ldexp(1 / rate, ReferenceSample::kFractionBits));
}

void add_to_groups(SampleGroups& groups, std::uint64_t hash, Count distance, double rate) {
  if (distance == kCold) {
    groups.add_cold(hash, 1);
  } else {
    const double capacity = unsampled_capacity(distance, rate);
    groups.add_hit(hash, static_cast<std::uint64_t>(capacity), 1);
  }
}

CurveEstimate shards_rate_curve(const RateSample& sample, const DistanceHistogram& distances,
                                const SampleGroups& groups, const ReferenceSample& reference_sample,
                                Correction correction) {
  const double rate = sample.rate;
  const auto sampled =
      static_cast<std::uint64_t>(distances.accesses()) - sample.sampled_after_discards;
  SampledCounts counts{.references = static_cast<double>(sampled) / rate,
                       .distinct = static_cast<double>(sample.distinct) / rate,
                       .accesses = static_cast<double>(sample.references),
                       .rate = rate,
                       .unit = std::sqrt(1 - rate) / rate};
  Count hits = 0;
  for (std::size_t i = 0; i < distances.distance.size(); ++i) {
    hits += distances.count[i];
    const double capacity = unsampled_capacity(distances.distance[i], rate);
    counts.steps.push_back({.capacity = capacity,
                            .earliest = capacity,
                            .latest = capacity,
                            .hits = static_cast<double>(hits) / rate});
  }
  CurveEstimate curve = sampled_curve(counts, groups, reference_sample, correction);
  curve.accesses += static_cast<double>(sample.after_discards);
  return curve;
}

ShardsRate::ShardsRate(Params params, EstimatorContext context)
    : correction_(params.correction),
      filter_(params.rate, context.seed),
      reference_sample_(context.seed),
      timed_sample_(context.seed),
      survivors_(kBatch),
      survivor_distances_(kBatch) {}

absl::Status ShardsRate::process(const References& next) {
  return for_each_run(
      next, [&](const References& run) { return count_after_discards(run); },
      [&](std::uint64_t key) {
        discarded_.insert(key);
        if (filter_.samples(key)) distances_.discard(key);
      });
}

absl::Status ShardsRate::count_after_discards(const References& next) {
  const std::span<const std::uint64_t> keys = next.keys;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < keys.size() && !discarded_.empty(); ++i) {
    if (discarded_.erase(keys[i]) == 0) continue;
    MCSIM_RETURN_IF_ERROR(count(next.subspan(begin, i - begin)));
    begin = i + 1;
    ++after_discards_;
    if (!filter_.samples(keys[i])) continue;
    ++sampled_after_discards_;
    MCSIM_RETURN_IF_ERROR(distances_.process(keys.subspan(i, 1)));
  }
  return count(next.subspan(begin, keys.size() - begin));
}

void ShardsRate::sample_references(const References& batch) {
  if (!batch.times.empty()) {
    has_times_ = true;
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      timed_sample_.add(batch.times[i], [&] { return filter_.hash(batch.keys[i]); });
    }
    return;
  }
  while (reference_sample_.next() - references_ < batch.keys.size()) {
    const std::uint64_t key = batch.keys[reference_sample_.next() - references_];
    reference_sample_.keep(filter_.hash(key), weight_at(filter_.rate()));
  }
}

absl::Status ShardsRate::count(References next) {
  while (!next.keys.empty()) {
    const References batch = next.subspan(0, std::min(next.keys.size(), kBatch));
    next = next.subspan(batch.keys.size(), next.keys.size() - batch.keys.size());
    sample_references(batch);
    references_ += batch.keys.size();
    const std::size_t count = filter_.select(batch.keys, survivors_);
    const auto distances = std::span(survivor_distances_).first(count);
    MCSIM_RETURN_IF_ERROR(distances_.process(std::span(survivors_).first(count), distances));
    for (std::size_t i = 0; i < count; ++i) {
      add_to_groups(groups_, filter_.hash(survivors_[i]), distances[i], filter_.rate());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CurveEstimate> ShardsRate::curve() {
  const RateSample sample{.rate = filter_.rate(),
                          .references = references_,
                          .after_discards = after_discards_,
                          .sampled_after_discards = sampled_after_discards_,
                          .distinct = distances_.distinct()};
  const ReferenceSample timed(timed_sample_.kept().blocks, weight_at(sample.rate));
  return shards_rate_curve(sample, distances_.histogram(), groups_,
                           has_times_ ? timed : reference_sample_, correction_);
}

std::size_t ShardsRate::bytes() const {
  return sizeof *this + distances_.bytes() + groups_.bytes() + reference_sample_.bytes() +
         timed_sample_.bytes() + survivors_.size() * (sizeof(std::uint64_t) + sizeof(Count)) +
         // One byte of metadata for every slot.
         discarded_.bucket_count() * (sizeof(std::uint64_t) + 1);
}

}  // namespace mcsim
