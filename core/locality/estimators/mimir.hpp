#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/containers/key_table.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The buckets that Mimir merges when it opens a new one.
enum class MimirAgeing : std::uint8_t { kRounder, kStacker };

template <>
struct Choices<MimirAgeing> {
  static constexpr std::array names{std::pair{"rounder", MimirAgeing::kRounder},
                                    std::pair{"stacker", MimirAgeing::kStacker}};
};

// Blocks by recency in a few buckets. The distance of a hit is known up to its bucket and spread
// evenly over it. If the newest bucket has more than its share of the blocks, a new one is opened.
// As their number is fixed, two neighbours are merged: the two oldest (ROUNDER), or the first that
// is no older than the average block and its predecessor (STACKER), which prefers an empty bucket.
//
// A bucket is an interval of reference times, and a block is in the bucket of its last reference,
// so merging buckets changes no block. O(buckets) per reference, 17 bytes a slot of the table and 8
// a block for the distances.
//
// With a capacity it estimates as Mimir does next to a cache of that size: it tracks the cache's
// blocks and evicted ones as ghosts, at most `ghost_factor` times the capacity. When there are
// more, the ghosts of the oldest bucket are dropped together.
class MimirEstimator final : public Estimator {
 public:
  struct Params {
    Count buckets = 128;
    MimirAgeing ageing = MimirAgeing::kRounder;
    Count capacity = 0;
    double ghost_factor = 2;

    static constexpr auto fields() {
      return std::tuple{
          Field{"buckets", &Params::buckets, "buckets of recency", 2, 1 << 20},
          Field{"ageing", &Params::ageing, "which buckets are merged"},
          Field{"capacity", &Params::capacity, "blocks of the cache; 0 forgets no block", 0},
          Field{"ghost_factor", &Params::ghost_factor,
                "blocks known, of the cache and ghosts, as a multiple of the capacity", 1, 1e6}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "mimir",
      .summary = "Distances from the sizes of a few buckets of recency.",
      .reference = "Saemundsson et al., SoCC 2014"};

  MimirEstimator(const Params& params, EstimatorContext context);

  absl::Status process(const References& next) override;
  absl::StatusOr<CurveEstimate> curve() override;
  double distinct() const override;
  std::size_t bytes() const override;

 private:
  void access(std::uint64_t key);
  // Removes a block last referenced at `last` from its bucket and counts its distance.
  void hit(Count last);
  void age();
  // Returns the bucket to merge with the next newer one.
  std::size_t merge_at() const;
  void remember(std::uint64_t key);
  void forget_oldest_bucket();
  bool is_current(const std::pair<std::uint64_t, Count>& entry) const;

  Params params_;
  std::uint64_t salt_;
  Count now_ = 0;
  Count hits_ = 0;
  KeyTable<Count> last_;  // of every tracked block

  // Bucket k, oldest first, has the blocks_[k] blocks whose last reference is in
  // [begin_[k], begin_[k + 1]).
  std::vector<Count> begin_;
  std::vector<Count> blocks_;

  // Differences of the hits by distance.
  std::vector<double> change_;

  // With a capacity: references in order. Those that are not their block's last reference are
  // removed when there are too many.
  std::deque<std::pair<std::uint64_t, Count>> log_;
  HyperLogLog seen_{12};
};

}  // namespace mcsim
