#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/run/system.hpp"
#include "core/engine/tiers/chain.hpp"
#include "core/engine/tiers/division.hpp"

namespace mcsim {

// The parameters that all systems have whose data path is up to the user: derive
// Params from it and join its fields to one's own.
struct DataPathParams {
  std::string policy = "lru";
  Chain chain = Chain::kExclusive;
  std::string admission = "none";
  std::string writes = "through";
  bool update_around = false;
  double dirty_limit = 1;
  Duration flush_every;

  static constexpr auto fields() {
    using P = DataPathParams;
    return std::tuple{
        Field{
            "policy", &P::policy,
            "eviction policy, with parameters as in arc(step=integer), or module:Class of Python; "
            "one for all tiers, or one a tier, fastest first, divided by /"},
        Field{"chain", &P::chain, "how blocks move between tiers"},
        Field{"admission", &P::admission,
              "filter of what may come in, as in nth(n=2); one for all tiers, or one a tier, "
              "divided by /"},
        Field{"writes", &P::writes,
              "what becomes of writes: through, back or around; VMs of their own as in "
              "'through, web_0=back'; one for all tiers or, unless the chain is exclusive, one a "
              "tier, fastest first, divided by /"},
        Field{"update_around", &P::update_around,
              "written around, a block that is held is updated instead of dropped"},
        Field{"dirty_limit", &P::dirty_limit,
              "share of all blocks of the cache that may be dirty; the oldest beyond it are "
              "written back",
              0, 1},
        Field{"flush_every", &P::flush_every,
              "time after which all dirty blocks are written back (0: never)", 0},
    };
  }
};

// How the space of the tiers is divided: who has which part, and the targets of the parts.
struct Division {
  std::vector<std::size_t> part_of;         // by VM
  std::vector<std::vector<Count>> targets;  // [tier][part]
  bool changeable = false;
  DivisionRules rules{.mode = ResizeMode::kEager};
};

// All VMs share everything.
Division shared_by_all(const Machine& machine, const Accesses& trace);
// Each VM has a part of its own, with these targets at first, which may change.
Division one_part_each(const Allocation& targets, DivisionRules rules);

// By VM, the host that it is on at first.
std::vector<std::size_t> hosts_of(const Machine& machine, const Accesses& trace);

// What decisions may change of it where the space is divided.
Actions divided_host_supports(const DataPathParams& params);

// What can be said of the parameters before there is a trace: names, and how many.
absl::Status check(const DataPathParams& params, const SystemContext& context);

// What of it cannot be had where there are several hosts.
absl::Status check_hosts(const Machine& machine, const DataPathParams& params, ResizeMode mode);

// As the registry makes a system, which refuses a data path that it could not build.
template <class S>
absl::StatusOr<std::unique_ptr<System>> make_checked(typename S::Params params,
                                                     SystemContext context) {
  MCSIM_RETURN_IF_ERROR(check(params, context));
  return std::make_unique<S>(std::move(params), std::move(context));
}

// Tiers of the machine for the trace that will be replayed: an exclusive chain of LRU is what
// exclusive_lru.hpp does best.
absl::StatusOr<std::unique_ptr<Host>> make_data_path(const DataPathParams& params,
                                                     const Machine& machine, const Accesses& trace,
                                                     const Division& division, std::uint64_t seed);

// The same by TieredHost, whatever the policy.
absl::StatusOr<std::unique_ptr<Host>> make_tiered_host(const DataPathParams& params,
                                                       const Machine& machine,
                                                       const Accesses& trace,
                                                       const Division& division,
                                                       std::uint64_t seed);

}  // namespace mcsim
