#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/registry.hpp"
#include "policies/eviction/curve_monitor.hpp"
#include "policies/eviction/wrapped.hpp"

namespace mcsim {

// A cache under the best of several policies, or of one with several parameters: all of
// them are simulated in miniature, and when an epoch ends the cache goes over to the one
// with the fewest misses in it, if those are fewer than its own by more than a share.
//
// The blocks stay. A new policy gets them in the order in which they were accessed, once
// for each access in the last epoch, those not accessed in it first; so it knows of them
// what it could have learnt in that time. Of blocks that were evicted it knows nothing.
class Switching final : public PolicyCache {
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

  static absl::StatusOr<std::unique_ptr<PolicyCache>> make(const Params& params,
                                                           const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;
  void resize(Count capacity) override;
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
    std::unique_ptr<PolicyCache> miniature;
    std::size_t bytes = 0;  // of a cache under it
    Count misses_before = 0;
  };

  Switching(const Params& params, const PolicySetup& setup, std::uint64_t seed);

  // Makes the miniatures and the first cache.
  absl::Status begin();
  PolicySetup miniature_setup(Count capacity) const;
  absl::Status replay_piece(const AccessBatch<>& piece);
  absl::Status choose();
  absl::Status go_over_to(std::size_t candidate);
  void count();

  Params params_;
  PolicySetup setup_;
  OnlineSample sample_;
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  std::unique_ptr<PolicyCache> main_;
  CacheCounts settled_;  // by caches before this one, less what went into filling it
  Pages<BlockId> epoch_;
  std::size_t in_epoch_ = 0;  // accesses so far
};

}  // namespace mcsim
