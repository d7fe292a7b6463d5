#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The published parallel algorithm: the stream is cut into chunks, each thread analyses a chunk,
// and neighbours are merged pairwise. Merging looks up the blocks first accessed in a chunk in the
// LRU stack of its left neighbour. Exact, or exact below a limit on the distances that also limits
// the memory.
//
// The cost of a merge grows with the distinct blocks of the chunks, so threads only help if chunks
// are long compared to their footprint. The stream is therefore processed in segments at least as
// long as the footprint so far: O(n log distinct) in all.
//
// Chunks with discards cannot be merged: a discard affects accesses of later chunks. From the first
// discard on, one thread counts, starting with the LRU stack of the accesses before.
class PardaEstimator final : public Estimator {
 public:
  struct Params {
    Count chunks = 0;
    Count limit = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"chunks", &Params::chunks, "chunks of a segment; 0: one a thread", 0, 1 << 16},
          Field{"limit", &Params::limit, "distances from here on count as cold; 0: none", 0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "parda",
      .summary = "Count every reuse distance, chunks of the stream in parallel, then merged.",
      .reference = "Niu, Dinan, Lu and Sadayappan, IPDPS 2012"};

  PardaEstimator(Params params, EstimatorContext context);

  absl::Status process(const References& next) override;
  absl::StatusOr<CurveEstimate> curve() override;
  double distinct() const override;
  bool removes_discards() const override { return true; }
  std::size_t bytes() const override;

 private:
  absl::Status process_serially(const References& next);
  // Analyses a segment by chunks in parallel.
  PartialDistances analyse_chunks(std::span<const std::uint64_t> keys) const;
  // The result for all references so far.
  PartialDistances so_far() const;
  std::size_t segment() const;

  Count limit_;
  std::size_t threads_;
  std::size_t chunks_;
  PartialDistances done_;
  std::vector<std::uint64_t> pending_;  // references after `done_`, less than a segment
  // From the first discard on; `done_` then has all references before it.
  std::optional<ExactDistances> serial_;
  // With a limit, old blocks are dropped and the number of blocks can only be estimated.
  std::optional<HyperLogLog> blocks_;
};

}  // namespace mcsim
