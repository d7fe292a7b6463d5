#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/registry.hpp"
#include "policies/wrappers/curve_bending.hpp"
#include "policies/wrappers/curve_monitor.hpp"
#include "policies/wrappers/wrapped.hpp"

// Caches without performance cliffs, over any policy. If the miss curve has a cliff, the cache is
// divided in two and the keys are divided between the parts by hash, so that the misses follow the
// convex hull of the curve.
namespace mcsim {

struct BendingOptions {
  Count epoch = 0;    // references between two plans
  double margin = 0;  // share of the second shard's keys that goes to the first
  // Whether space moves only when the growing shard needs it, instead of at once.
  bool gradual = false;
};

// Two shards, each a cache under the policy, and a monitor of the miss curve. Every epoch starts
// with a new plan; the cache is split if the curve predicts savings above the margin. A block stays
// in its shard, where hits find it, until it is evicted; the hash selects the shard of a missed
// block. If that shard has no space, the block is not inserted, and in a host it is not admitted.
//
// In a host, a plan is made at the first insertion after the epoch, since moving space creates
// victims.
class BentCache final : public TierCache {
 public:
  BentCache(std::array<std::unique_ptr<TierCache>, 2> shards, std::unique_ptr<CurveMonitor> monitor,
            const PolicySetup& setup, std::uint64_t seed, const BendingOptions& options);

  absl::Status replay(const AccessBatch<>& batch) override;
  void resize(Count capacity) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  bool discard(BlockId block) override;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override;
  bool selective() const override { return true; }
  absl::Status failure() const override;
  bool contains(BlockId block) const override {
    return shards_[0]->contains(block) || shards_[1]->contains(block);
  }
  Count size() const override { return shards_[0]->size() + shards_[1]->size(); }
  Count capacity() const override { return capacity_; }
  std::size_t bytes() const override {
    return shards_[0]->bytes() + shards_[1]->bytes() + monitor_->bytes();
  }
  bool needs_next_use() const override { return false; }
  absl::Status check() const override;

  // The current split as planned; none if the cache is not split.
  const std::optional<Split>& split() const { return split_; }

 private:
  absl::Status replay_piece(const AccessBatch<>& piece);
  absl::Status access(const AccessBatch<>& one);
  std::size_t shard_of(BlockId block) const;
  void follow(TierStep step, Access<> a);
  void plan(std::vector<BlockId>& victims);
  // Set the targets of the shards by the plan.
  void set_targets();
  void set_capacity(Count first, std::vector<BlockId>& victims);
  void make_room(std::size_t shard, std::vector<BlockId>& victims);
  void count();

  BendingOptions options_;
  Count capacity_;
  BlockId first_block_;
  std::uint64_t salt_;
  std::array<std::unique_ptr<TierCache>, 2> shards_;
  std::unique_ptr<CurveMonitor> monitor_;
  double first_share_ = 0;       // share of the space for the first shard
  std::array<Count, 2> target_;  // blocks
  Count moved_out_ = 0;          // evictions caused by moved space
  std::vector<BlockId> victims_;
  std::optional<Split> split_;
  std::uint64_t first_hashes_ = 0;  // keys with lower hashes belong to the first shard
  Count until_plan_;
};

// The parameters of both, with separate defaults.
struct BendingParams {
  std::string policy;
  Count epoch = 1'000'000;
  double margin = 0.05;
  Count sample;

  static constexpr auto fields() {
    using P = BendingParams;
    return std::tuple{
        Field{"policy", &P::policy, "wrapped policy: NAME or NAME(PARAM=VALUE,…)"},
        Field{"epoch", &P::epoch, "number of references between two plans", 1},
        Field{"margin", &P::margin,
              "share of the second shard's keys that moves to the first as a safety margin, and "
              "minimum relative saving of misses for a split",
              0, 0.5},
        Field{"sample", &P::sample, "number of sampled blocks that represent the capacity", 64}};
  }
};

// Talus: the shards have fixed parts of the space, which change at once with the plan. LRU's curve
// comes from reuse distances, the curve of any other policy from miniature caches.
class Talus {
 public:
  struct Params : BendingParams {
    Params() : BendingParams{.policy = "lru", .sample = 4096} {}
  };
  static constexpr ComponentInfo kInfo{
      .name = "talus",
      .summary =
          "Removes the cliffs of a policy by splitting the cache and the keys into two shards.",
      .reference =
          "Beckmann, Sanchez: Talus: a simple way to remove cliffs in cache performance, "
          "HPCA 2015"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);
};

// SLIDE: one cache with two shards, between which space moves as needed. The curve of any policy
// comes from miniature caches.
class Slide {
 public:
  struct Params : BendingParams {
    Params() : BendingParams{.policy = "arc", .sample = 2048} {}
  };
  static constexpr ComponentInfo kInfo{
      .name = "slide",
      .summary = "Removes the cliffs of any policy by two shards, planned from miniature caches.",
      .reference =
          "Waldspurger, Saemundsson, Ahmad, Park: Cache modeling and optimization using "
          "miniature simulations, USENIX ATC 2017"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);
};

// Return the rate at which `sample` blocks represent the capacity.
double sample_rate(Count sample, Count capacity);

}  // namespace mcsim
