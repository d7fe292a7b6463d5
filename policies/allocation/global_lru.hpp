#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/multicache/legacy_global_lru.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// One LRU stack over all VMs and all tiers. VMs that access the most blocks occupy the most space.
// It has the hits of a flat LRU cache with the capacity of all tiers; tier-1 hits are those of
// LRU(c1).
class GlobalLru final : public System {
 public:
  struct Params : LruPathParams {
    bool legacy = false;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{Field{"legacy", &Params::legacy,
                           "whether to reproduce the Multi-Cache authors' baseline, which drops "
                           "every block that leaves the first of its two tiers"}},
          LruPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lru",
      .summary = "Manages all VMs and tiers as one LRU stack (global LRU).",
      .reference = "Mattson et al., IBM Systems Journal 9(2), 1970; baseline of Multi-Cache"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_RETURN_IF_ERROR(check(data_path_of(params), context));
    if (params.legacy && params.writes != "through") {
      return invalid_argument("writes: the authors' baseline (legacy) writes through, got '{}'",
                              params.writes);
    }
    return std::make_unique<GlobalLru>(std::move(params), std::move(context));
  }
  GlobalLru(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  bool counts_bytes() const override { return !params_.legacy; }
  bool can_delay_hits() const override { return !params_.legacy; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    const Machine& machine = context_.machine;
    if (params_.legacy) return make_legacy_global_lru(machine, trace);
    return make_data_path(data_path_of(params_), machine, trace, shared_by_all(machine, trace),
                          context_.seed);
  }

 private:
  Params params_;
  SystemContext context_;
};

// Global LRU with the same space in one fast tier. Compared with `lru`, it has equal hits; the
// difference in latency is the cost of tiering.
class SingleTierLru final : public System {
 public:
  using Params = LruPathParams;
  static constexpr ComponentInfo kInfo{
      .name = "single-tier",
      .summary =
          "Runs global LRU on a single tier: the fastest device with the capacity of all tiers.",
      .reference = "Mattson et al., IBM Systems Journal 9(2), 1970"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    std::vector<TierSpec>& tiers = context.machine.tiers;
    for (std::size_t k = 1; k < tiers.size(); ++k) {
      tiers[0].capacity_blocks += tiers[k].capacity_blocks;
    }
    if (tiers.size() > 1) tiers.resize(1);
    MCSIM_RETURN_IF_ERROR(check(data_path_of(params), context));
    return std::make_unique<SingleTierLru>(std::move(params), std::move(context));
  }
  SingleTierLru(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  bool counts_bytes() const override { return true; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    const Machine& machine = context_.machine;
    return make_data_path(data_path_of(params_), machine, trace, shared_by_all(machine, trace),
                          context_.seed);
  }

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
