#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.hpp"
#include "policies/wrappers/curve_monitor.hpp"
#include "policies/wrappers/wrapped.hpp"

namespace mcsim {

// A cache under the best of several policies, or of one with several parameters: all of
// them are simulated in miniature, and when an epoch ends the cache goes over to the one
// with the fewest misses in it, if those are fewer than its own by more than a share.
//
// The blocks stay. A new policy gets them in the order in which they were accessed, once
// for each access in the last epoch, those not accessed in it first; so it knows of them
// what it could have learnt in that time. Of blocks that were evicted it knows nothing.
//
// In a host it goes over when a block comes in after the epoch, which is one of hits and
// blocks that came in. A candidate's hits are then also the blocks that it had when they
// were to be taken away.
class Switching final : public TierCache {
 public:
  struct Params {
    std::string candidates = "lru+lirs+s3-fifo";
    Count epoch = 1'000'000;
    double hysteresis = 0.02;
    Count sample = 2048;

    static constexpr auto fields() {
      return std::tuple{
          Field{"candidates", &Params::candidates,
                "policies, the first one to begin with: NAME+NAME(PARAM=VALUE,…)+…"},
          Field{"epoch", &Params::epoch, "references from one choice to the next", 1, 1e9},
          Field{"hysteresis", &Params::hysteresis, "share of its misses that another must save", 0,
                1},
          Field{"sample", &Params::sample, "blocks of the sample that stand for the capacity", 64}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "switching",
      .summary = "Goes over to whichever candidate misses least in miniature.",
      .reference =
          "Waldspurger, Saemundsson, Ahmad, Park: Cache modeling and optimization using "
          "miniature simulations, USENIX ATC 2017"};

  static absl::StatusOr<std::unique_ptr<TierCache>> make(const Params& params,
                                                         const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;
  void resize(Count capacity) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  bool discard(BlockId block) override;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  bool admits(const Access<>& a) override;
  bool selective() const override;
  absl::Status failure() const override;
  bool contains(BlockId block) const override { return main_->contains(block); }
  Count size() const override { return main_->size(); }
  Count capacity() const override { return main_->capacity(); }
  // With room for two caches, as there are at a switch.
  std::size_t bytes() const override;
  bool needs_next_use() const override { return false; }
  absl::Status check() const override;

  // Which candidate the cache is under.
  std::size_t current() const { return current_; }

 private:
  struct Candidate {
    ComponentSpec spec;
    MiniatureCache miniature;
    std::size_t bytes = 0;  // of a cache under it
  };

  Switching(const Params& params, const PolicySetup& setup, std::uint64_t seed);

  // Makes the miniatures and the first cache.
  absl::Status begin();
  PolicySetup miniature_setup(Count capacity) const;
  absl::Status replay_piece(const AccessBatch<>& piece);
  void follow(TierStep step, Access<> a);
  void remember(BlockId block);
  void resize_miniatures();
  absl::Status choose(std::vector<BlockId>& victims);
  absl::Status go_over_to(std::size_t candidate, std::vector<BlockId>& victims);
  void count();

  Params params_;
  PolicySetup setup_;
  OnlineSample sample_;
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  std::unique_ptr<TierCache> main_;
  CacheCounts settled_;  // by caches before this one, less what went into filling it
  absl::Status failure_;
  std::vector<BlockId> victims_;
  Pages<BlockId> epoch_;
  std::size_t in_epoch_ = 0;  // accesses so far
  Count asked_ = 0;           // of the sample, in this epoch
};

}  // namespace mcsim
