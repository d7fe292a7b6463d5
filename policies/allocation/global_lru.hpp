#pragma once

#include <memory>

#include "core/base/params.hpp"
#include "core/engine/hosts/exclusive_lru.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/multicache/legacy_global_lru.hpp"

namespace mcsim {

// One LRU stack over all VMs and all tiers: whoever touches most holds most.
// Equivalent to a flat LRU of all tiers together; tier-1 hits are LRU(c1).
class GlobalLru final : public System {
 public:
  struct Params {
    bool legacy = false;

    static constexpr auto fields() {
      return std::tuple{
          Field{"legacy", &Params::legacy,
                "reproduce the Multi-Cache authors' baseline, which loses every block that "
                "leaves the first of its two tiers"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lru",
      .summary = "Global LRU: one stack over all VMs and tiers.",
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

// The same space as one fast tier: what tiering costs in hits (nothing) and in
// latency (the difference) against `lru`.
class SingleTierLru final : public System {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "single-tier",
      .summary = "Global LRU on one tier: the fastest device with the capacity of all tiers.",
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
