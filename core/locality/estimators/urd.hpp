#pragma once

#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/key_table.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// Hits of reads as a share of all accesses: the useful reuse distances of ECI-Cache. Writes need no
// cached block. Exact.
//
// Without `count_writes`, distances only count reads, as in a cache with write-around: a block's
// first read is cold even if the block was written before.
class UrdEstimator final : public Estimator {
 public:
  struct Params {
    bool count_writes = true;

    static constexpr auto fields() {
      return std::tuple{Field{"count_writes", &Params::count_writes,
                              "whether blocks that were written in between count in a distance"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "urd",
      .summary = "Count the distances of reads to blocks that were accessed before.",
      .reference = "Ahmadian et al., POMACS 2(1), 2018"};

  UrdEstimator(const Params& params, EstimatorContext) : count_writes_(params.count_writes) {}

  // Fails if the references have no operations.
  absl::Status process(const References& next) override;
  absl::StatusOr<CurveEstimate> curve() override { return exact_estimate(histogram()); }
  double distinct() const override { return static_cast<double>(blocks_.size()); }
  bool removes_discards() const override { return true; }
  std::size_t bytes() const override;

  // Distances of reads; all other accesses are cold.
  DistanceHistogram histogram() const;

 private:
  absl::Status process_piece(const References& piece);

  bool count_writes_;
  ExactDistances engine_;
  KeyTable<std::uint8_t> blocks_;  // all accessed blocks
  std::vector<Count> reads_;       // by distance
  Count accesses_ = 0;
  std::vector<std::uint64_t> keys_;  // of a piece, those with a distance,
  std::vector<Count> distances_;     // and their distances
};

}  // namespace mcsim
