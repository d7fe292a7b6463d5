#include "core/locality/estimators/partial_sample.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/guarded.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/distances/piece_events.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

// Counts the first accesses of a piece as cold.
void add_cold(const PartialSample& sample, SampleGroups& groups) {
  const SpatialFilter filter(sample.params.rate, sample.seed);
  for (const std::uint64_t key : sample.blocks.first) groups.add_cold(filter.hash(key), 1);
}

PartialSample sampled(std::span<const std::uint32_t> blocks, std::span<const std::uint64_t> key_of,
                      std::span<const Nanoseconds> times, ShardsRate::Params params,
                      std::uint64_t seed) {
  const SpatialFilter filter(params.rate, seed);
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> number_of(key_of.size(), none);
  std::vector<std::uint64_t> keys;
  for (std::size_t block = 0; block < key_of.size(); ++block) {
    if (!filter.samples(key_of[block])) continue;
    number_of[block] = static_cast<std::uint32_t>(keys.size());
    keys.push_back(key_of[block]);
  }
  TimedReferenceSample references(seed);
  std::vector<std::uint32_t> survivors;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    references.add(times[i], [&] { return filter.hash(key_of[blocks[i]]); });
    if (number_of[blocks[i]] != none) survivors.push_back(number_of[blocks[i]]);
  }
  std::vector<Count> distances(survivors.size());
  PieceEngine engine(survivors, keys, {});
  engine.process(survivors.size(), distances);
  PieceEngine::Result found = engine.finish();
  PartialSample result;
  result.params = params;
  result.seed = seed;
  result.references = static_cast<Count>(blocks.size());
  result.blocks.resolved = std::move(found.resolved);
  result.blocks.first = std::move(found.first);
  result.blocks.last = std::move(found.last);
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    if (distances[i] == kUnresolved) continue;
    add_to_groups(result.groups, filter.hash(keys[survivors[i]]), distances[i], filter.rate());
  }
  result.kept = references.kept();
  return result;
}

absl::StatusOr<PartialSample> merged(PartialSample left, const PartialSample& right) {
  if (left.params.rate != right.params.rate || left.params.correction != right.params.correction ||
      left.seed != right.seed) {
    return invalid_argument("partial samples: different parameters or seeds");
  }
  if (left.ends || right.starts) {
    return invalid_argument(
        "partial samples: nothing follows a last piece or precedes a first one");
  }
  std::vector<Count> distances(right.blocks.first.size());
  MCSIM_ASSIGN_OR_RETURN(left.blocks, merge(std::move(left.blocks), right.blocks,
                                            MergeOptions{left.starts, right.ends, distances}));
  left.groups.merge(right.groups);
  const SpatialFilter filter(left.params.rate, left.seed);
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] == kCold && !left.starts) continue;
    add_to_groups(left.groups, filter.hash(right.blocks.first[i]), distances[i], filter.rate());
  }
  TimedReferenceSample references(left.seed);
  references.merge(left.kept);
  references.merge(right.kept);
  left.kept = references.kept();
  left.references += right.references;
  left.ends = right.ends;
  return left;
}

}  // namespace

void PartialSample::start() {
  starts = true;
  add_cold(*this, groups);
  blocks.resolved.cold += static_cast<Count>(blocks.first.size());
  blocks.first = {};
}

void PartialSample::end() {
  ends = true;
  blocks.last = {};
}

double PartialSample::distinct() const {
  return static_cast<double>(blocks.histogram().cold) / SpatialFilter(params.rate, seed).rate();
}

CurveEstimate PartialSample::curve() const {
  SampleGroups all = groups;
  add_cold(*this, all);
  const double sampling_rate = SpatialFilter(params.rate, seed).rate();
  const RateSample counts{.rate = sampling_rate,
                          .references = static_cast<std::uint64_t>(references),
                          .distinct = blocks.histogram().cold};
  return shards_rate_curve(counts, blocks.histogram(), all,
                           ReferenceSample(kept.blocks, weight_at(sampling_rate)),
                           params.correction);
}

absl::Status PartialSample::check() const {
  const DistanceHistogram& of = blocks.resolved;
  const bool fits = params.rate > 0 && params.rate <= 1 && references >= 0 && of.cold >= 0 &&
                    of.distance.size() == of.count.size() &&
                    std::ranges::is_sorted(of.distance, std::less_equal<Count>()) &&
                    (of.distance.empty() || of.distance.front() >= 0) &&
                    kept.priorities.size() == kept.blocks.size() &&
                    kept.blocks.size() <= ReferenceSample::kRoom;
  return fits ? absl::OkStatus() : data_loss("partial sample: its counts contradict themselves");
}

absl::StatusOr<PartialSample> analyse_sample(std::span<const std::uint32_t> blocks,
                                             std::span<const std::uint64_t> key_of,
                                             std::span<const Nanoseconds> times,
                                             ShardsRate::Params params, std::uint64_t seed) {
  const auto is_unknown = [&](std::uint32_t block) { return block >= key_of.size(); };
  if (std::ranges::any_of(blocks, is_unknown)) {
    return invalid_argument("blocks: a number without a key");
  }
  if (times.size() != blocks.size()) {
    return invalid_argument("times: {} of them for {} blocks", times.size(), blocks.size());
  }
  return guarded("partial sample", [&]() -> absl::StatusOr<PartialSample> {
    return sampled(blocks, key_of, times, params, seed);
  });
}

absl::StatusOr<PartialSample> merge(PartialSample left, const PartialSample& right) {
  return guarded("partial sample", [&] { return merged(std::move(left), right); });
}

}  // namespace mcsim
