#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The published parallel algorithm: the stream is cut into chunks, each chunk is
// analysed by a thread of its own, and neighbours are merged pairwise; blocks
// first accessed in a chunk are looked for in what came before it. Exact, or
// exact below a bound on the distances that also bounds the memory.
//
// A merge costs as much as the chunks have distinct blocks, so threads pay only
// where chunks are long against their footprint. The stream is therefore taken
// in segments of at least the footprint so far: O(n log distinct) in all.
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
  std::size_t bytes() const override;

 private:
  // Of a segment, by chunks in parallel.
  PartialDistances analyse_chunks(std::span<const std::uint64_t> keys) const;
  // Of all references so far.
  PartialDistances so_far() const;
  std::size_t segment() const;

  Count limit_;
  std::size_t threads_;
  std::size_t chunks_;
  PartialDistances done_;
  std::vector<std::uint64_t> waiting_;  // references after `done_`, less than a segment
  // With a limit, blocks are forgotten and can only be estimated.
  std::optional<HyperLogLog> blocks_;
};

}  // namespace mcsim
