#include "core/locality/estimators/shards_rate.hpp"

#include <algorithm>
#include <span>

#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

ShardsRate::ShardsRate(Params params, EstimatorContext context)
    : correction_(params.correction),
      filter_(params.rate, context.seed),
      survivors_(kBatch),
      survivor_distances_(kBatch) {}

absl::Status ShardsRate::process(const References& next) {
  references_ += static_cast<Count>(next.keys.size());
  for (auto keys = next.keys; !keys.empty();) {
    const auto batch = keys.first(std::min(keys.size(), kBatch));
    keys = keys.subspan(batch.size());
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
  SampledCounts counts{.references = static_cast<double>(sampled.accesses()) / rate,
                       .distinct = distinct(),
                       .accesses = static_cast<double>(references_),
                       .rate = rate,
                       .unit = 1 / rate};
  Count hits = 0;
  for (std::size_t i = 0; i < sampled.distance.size(); ++i) {
    hits += sampled.count[i];
    counts.capacity.push_back(unsampled_capacity(sampled.distance[i], rate));
    counts.hits.push_back(static_cast<double>(hits) / rate);
  }
  return sampled_curve(std::move(counts), groups_, correction_);
}

std::size_t ShardsRate::bytes() const {
  return sizeof *this + distances_.bytes() + groups_.bytes() +
         survivors_.size() * (sizeof(std::uint64_t) + sizeof(Count));
}

}  // namespace mcsim
