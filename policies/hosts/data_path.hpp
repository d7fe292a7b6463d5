#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/model/chain.hpp"
#include "core/engine/model/division.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/meters.hpp"

namespace mcsim {

// The parameters of systems of LRU tiers in an exclusive chain, whose write mode alone can be
// configured: derive Params from it and append its fields.
struct LruPathParams {
  std::string writes = "through";

  static constexpr auto fields() {
    return std::tuple{Field{"writes", &LruPathParams::writes,
                            "write mode: through, back or around, with exceptions for VMs as in "
                            "'through, web_0=back'"}};
  }
};

// The parameters of systems with a configurable data path: derive Params from it and append its
// fields.
struct DataPathParams {
  std::string policy = "lru";
  Chain chain = Chain::kExclusive;
  std::string admission = "none";
  std::string prefetch = "none";
  std::string writes = "through";
  bool update_around = false;

  // What takes up space in a cache that a VM writes around. A curve cannot show copies that writes
  // update: then the reads are counted as if writes were not there.
  Between between_around() const { return update_around ? Between::kReads : Between::kAround; }

  double dirty_limit = 1;
  Duration flush_every;

  static constexpr auto fields() {
    using P = DataPathParams;
    return std::tuple{
        Field{"policy", &P::policy,
              "eviction policy, with parameters as in arc(step=integer), or a Python class as "
              "module:Class; one for all tiers, or one per tier from the fastest, separated by /"},
        Field{"chain", &P::chain,
              "movement of blocks between tiers: each block in one tier (exclusive), victims move "
              "down and hits copy up (victim), faster tiers are subsets of slower ones "
              "(inclusive), or all tiers hold copies independently (independent)"},
        Field{"admission", &P::admission,
              "admission filter, with parameters as in nth(n=2); one for all tiers, or one per "
              "tier from the fastest, separated by /"},
        Field{"prefetch", &P::prefetch,
              "prefetcher, with parameters as in readahead(max=64); with several tiers one per "
              "tier from the fastest, separated by /, of which one may prefetch"},
        Field{"writes", &P::writes,
              "write mode: through, back or around, with exceptions for VMs as in 'through, "
              "web_0=back'; one for all tiers or, unless the chain is exclusive, one per tier from "
              "the fastest, separated by /"},
        Field{"update_around", &P::update_around,
              "whether a write around the cache updates a cached block instead of dropping it"},
        Field{"dirty_limit", &P::dirty_limit,
              "maximum share of all cache blocks that are dirty; the oldest beyond it are written "
              "back",
              0, 1},
        Field{"flush_every", &P::flush_every,
              "time between two write-backs of all dirty blocks (0: never)", 0},
    };
  }
};

// Return the parameters of the data path of LRU tiers.
DataPathParams data_path_of(const LruPathParams& params);

// The division of the tiers: the partition of each VM, and the targets of the partitions.
struct Division {
  std::vector<std::size_t> part_of;         // by VM
  std::vector<std::vector<Count>> targets;  // [tier][part]
  bool changeable = false;
  DivisionRules rules{.mode = ResizeMode::kEager};
};

// Return the division in which all VMs share one partition of each tier.
Division shared_by_all(const Machine& machine, const Accesses& trace);
// Return the division with a partition for each VM, with these initial targets, which may change.
Division one_part_each(const Allocation& targets, DivisionRules rules);

// Return the initial host of each VM.
std::vector<std::size_t> hosts_of(const Machine& machine, const Accesses& trace);

// Return the actions that decisions may take on a divided data path.
Actions divided_host_supports(const DataPathParams& params);

// Check the parameters before the trace is known: names and numbers of entries.
absl::Status check(const DataPathParams& params, const SystemContext& context);

// Return whether a filter or a prefetcher reads the addresses of blocks. The parameters were
// checked.
bool reads_addresses(const DataPathParams& params, std::size_t tiers);

// Check the parameters for several hosts.
absl::Status check_hosts(const Machine& machine, const DataPathParams& params, ResizeMode mode);

// Create a system for the registry; fail if its data path cannot be built.
template <class S>
absl::StatusOr<std::unique_ptr<System>> make_checked(typename S::Params params,
                                                     SystemContext context) {
  MCSIM_RETURN_IF_ERROR(check(params, context));
  const bool with_addresses = reads_addresses(params, context.machine.tiers.size());
  auto system = std::make_unique<S>(std::move(params), std::move(context));
  if (with_addresses) system->keep_addresses();
  return system;
}

// Create the tiers of the machine for this trace. An exclusive chain of LRU tiers uses the faster
// exclusive_lru.hpp.
absl::StatusOr<std::unique_ptr<Host>> make_data_path(const DataPathParams& params,
                                                     const Machine& machine, const Accesses& trace,
                                                     const Division& division, std::uint64_t seed);

// Create the tiers as a TieredHost, whatever the policy.
absl::StatusOr<std::unique_ptr<Host>> make_tiered_host(const DataPathParams& params,
                                                       const Machine& machine,
                                                       const Accesses& trace,
                                                       const Division& division,
                                                       std::uint64_t seed);

}  // namespace mcsim
