#pragma once

#include <memory>

#include "core/base/params.hpp"
#include "core/engine/hosts/exclusive_lru.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/multicache/legacy_global_lru.hpp"

namespace mcsim {

// One LRU stack over all VMs and all tiers. VMs that access the most blocks occupy the most space.
// It has the hits of a flat LRU cache with the capacity of all tiers; tier-1 hits are those of
// LRU(c1).
class GlobalLru final : public System {
 public:
  struct Params {
    bool legacy = false;

    static constexpr auto fields() {
      return std::tuple{Field{"legacy", &Params::legacy,
                              "whether to reproduce the Multi-Cache authors' baseline, which drops "
                              "every block that leaves the first of its two tiers"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lru",
      .summary = "Manages all VMs and tiers as one LRU stack (global LRU).",
      .reference = "Mattson et al., IBM Systems Journal 9(2), 1970; baseline of Multi-Cache"};

  GlobalLru(Params params, SystemContext context)
      : params_(params), machine_(std::move(context.machine)) {}

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    if (params_.legacy) return make_legacy_global_lru(machine_, trace);
    return make_shared_lru(machine_, trace);
  }

 private:
  Params params_;
  Machine machine_;
};

// Global LRU with the same space in one fast tier. Compared with `lru`, it has equal hits; the
// difference in latency is the cost of tiering.
class SingleTierLru final : public System {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "single-tier",
      .summary =
          "Runs global LRU on a single tier: the fastest device with the capacity of all tiers.",
      .reference = "Mattson et al., IBM Systems Journal 9(2), 1970"};

  SingleTierLru(Params, SystemContext context) : machine_(std::move(context.machine)) {
    for (std::size_t k = 1; k < machine_.tiers.size(); ++k) {
      machine_.tiers[0].capacity_blocks += machine_.tiers[k].capacity_blocks;
    }
    if (machine_.tiers.size() > 1) machine_.tiers.resize(1);
  }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    return make_shared_lru(machine_, trace);
  }

 private:
  Machine machine_;
};

}  // namespace mcsim
