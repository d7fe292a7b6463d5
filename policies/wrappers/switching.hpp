#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.hpp"
#include "policies/wrappers/curve_monitor.hpp"
#include "policies/wrappers/wrapped.hpp"

namespace mcsim {

// A cache that switches to the best of several policies, or parameter sets of one policy. All
// candidates are simulated in miniature. At the end of an epoch the cache switches to the candidate
// with the fewest misses in the epoch, if they are below its own by more than the share
// `hysteresis`.
//
// Cached blocks are kept. The new policy receives them in the order of their accesses, once per
// access in the last epoch; blocks without accesses in it come first. Its state therefore reflects
// the last epoch, but not the blocks evicted before.
//
// In a host, the cache switches at the first insertion after an epoch, which is a number of hits
// and insertions. Hits of candidates then include blocks that they held when the host took them
// away.
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
                "candidate policies, the initial one first: NAME+NAME(PARAM=VALUE,…)+…"},
          Field{"epoch", &Params::epoch, "number of references between two choices", 1, 1e9},
          Field{"hysteresis", &Params::hysteresis,
                "minimum share of its misses that another candidate must save for a switch", 0, 1},
          Field{"sample", &Params::sample, "number of sampled blocks that represent the capacity",
                64}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "switching",
      .summary =
          "Switches to the candidate policy with the fewest misses in miniature simulations.",
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
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override;
  bool selective() const override;
  absl::Status failure() const override;
  bool contains(BlockId block) const override { return main_->contains(block); }
  Count size() const override { return main_->size(); }
  Count capacity() const override { return main_->capacity(); }
  // Return the memory of two caches, which coexist during a switch.
  std::size_t bytes() const override;
  bool needs_next_use() const override { return false; }
  absl::Status check() const override;

  // Return the index of the current candidate.
  std::size_t current() const { return current_; }

 private:
  struct Candidate {
    ComponentSpec spec;
    MiniatureCache miniature;
    std::size_t bytes = 0;  // memory of a full cache under this policy
  };

  Switching(const Params& params, const PolicySetup& setup, std::uint64_t seed);

  // Create the miniature caches and the first cache.
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
  CacheCounts settled_;  // counts of previous caches, less those of transfers at switches
  absl::Status failure_;
  std::vector<BlockId> victims_;
  Pages<BlockId> epoch_;
  std::size_t in_epoch_ = 0;  // accesses recorded in this epoch
  Count asked_ = 0;           // sampled references in this epoch
};

}  // namespace mcsim
