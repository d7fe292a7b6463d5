#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/registry.hpp"
#include "policies/wrappers/curve_bending.hpp"
#include "policies/wrappers/curve_monitor.hpp"
#include "policies/wrappers/wrapped.hpp"

// Caches without cliffs, over any policy: where its miss curve has one, the cache is
// divided in two and the keys are divided among them by their hash, so that it follows
// the convex hull of the curve.
namespace mcsim {

struct BendingOptions {
  Count epoch = 0;    // references from one plan to the next
  double margin = 0;  // of the keys of the second shard, kept from it
  // Space moves when the shard that is to grow needs it, not at once.
  bool gradual = false;
};

// Two shards, each a cache under the policy, and a monitor of the miss curve. After
// every epoch there is a new plan, and a split is made where the curve says that it
// saves more than the margin. A block stays in the shard it came to, and is found there,
// until it is evicted; what misses goes where its hash says. If that is a shard without
// space, it does not come in: a host is told not to admit it.
//
// In a host a plan is made when a block comes in after the epoch, as space that moves
// makes victims.
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
  bool admits(const Access<>& a) override;
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

  // The split in force, as it was planned; none if there is but one cache.
  const std::optional<Split>& split() const { return split_; }

 private:
  absl::Status replay_piece(const AccessBatch<>& piece);
  absl::Status access(const AccessBatch<>& one);
  std::size_t shard_of(BlockId block) const;
  void follow(TierStep step, Access<> a);
  void plan(std::vector<BlockId>& victims);
  // Divides the space as it was planned.
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
  double first_share_ = 0;       // of the space, for the first shard
  std::array<Count, 2> target_;  // blocks
  Count moved_out_ = 0;          // evicted because space moved
  std::vector<BlockId> victims_;
  std::optional<Split> split_;
  std::uint64_t first_hashes_ = 0;  // hashes below are of the first shard
  Count until_plan_;
};

// The parameters that both have, with defaults of their own.
struct BendingParams {
  std::string policy;
  Count epoch = 1'000'000;
  double margin = 0.05;
  Count sample;

  static constexpr auto fields() {
    using P = BendingParams;
    return std::tuple{
        Field{"policy", &P::policy, "what it wraps: NAME or NAME(PARAM=VALUE,…)"},
        Field{"epoch", &P::epoch, "references from one plan to the next", 1},
        Field{"margin", &P::margin, "share of the second shard's keys kept from it", 0, 0.5},
        Field{"sample", &P::sample, "blocks of the sample that stand for the capacity", 64}};
  }
};

// Talus: the shards have fixed parts of the space, moved at once when the plan changes.
// LRU's curve comes from reuse distances, any other policy's from miniatures.
class Talus {
 public:
  struct Params : BendingParams {
    Params() : BendingParams{.policy = "lru", .sample = 4096} {}
  };
  static constexpr ComponentInfo kInfo{
      .name = "talus",
      .summary = "Removes the cliffs of a policy by dividing cache and keys in two.",
      .reference =
          "Beckmann, Sanchez: Talus: a simple way to remove cliffs in cache performance, "
          "HPCA 2015"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);
};

// SLIDE: one cache with two shards between which space moves as it is needed, and the
// curve, of any policy, from miniatures.
class Slide {
 public:
  struct Params : BendingParams {
    Params() : BendingParams{.policy = "arc", .sample = 2048} {}
  };
  static constexpr ComponentInfo kInfo{
      .name = "slide",
      .summary = "Removes the cliffs of any policy, as miniature caches show them.",
      .reference =
          "Waldspurger, Saemundsson, Ahmad, Park: Cache modeling and optimization using "
          "miniature simulations, USENIX ATC 2017"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);
};

// The rate at which a sample of so many blocks stands for the capacity.
double sample_rate(Count sample, Count capacity);

}  // namespace mcsim
