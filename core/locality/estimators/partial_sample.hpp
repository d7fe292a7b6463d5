#pragma once

#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/estimators/shards_rate.hpp"
#include "core/locality/sampling/reference_sample.hpp"
#include "core/locality/sampling/sampled_curve.hpp"

namespace mcsim {

// The counts of fixed-rate SHARDS in a piece of a stream, to be merged with its neighbours. Memory
// and size are those of the sampled blocks. Merged pieces have the curve of ShardsRate, bit for
// bit, if the stream has times, no time is in two pieces, and there are no discards.
struct PartialSample {
  ShardsRate::Params params;
  std::uint64_t seed = 1;
  Count references = 0;     // sampled or not
  PartialDistances blocks;  // of the sampled references
  SampleGroups groups;      // sampled references of known distance
  KeptReferences kept;      // the reference sample
  // As of PartialCurve.
  bool starts = false;
  bool ends = false;

  // Marks the piece as the first or the last one of the stream.
  void start();
  void end();

  // Distinct blocks, as ShardsRate estimates them.
  double distinct() const;
  // The curve of a stream that begins with the piece.
  CurveEstimate curve() const;
  // Fails if the data contradict themselves, as those of a damaged file may.
  absl::Status check() const;
};

// Samples a piece with dense block numbers; `key_of` has the key of each number, equal in all
// pieces, and `times` the time of each reference. Fails if a number has no key.
absl::StatusOr<PartialSample> analyse_sample(std::span<const std::uint32_t> blocks,
                                             std::span<const std::uint64_t> key_of,
                                             std::span<const Nanoseconds> times,
                                             ShardsRate::Params params, std::uint64_t seed);

// Returns the sample of `left` followed by `right`. Fails if their parameters or
// seeds differ.
absl::StatusOr<PartialSample> merge(PartialSample left, const PartialSample& right);

}  // namespace mcsim
