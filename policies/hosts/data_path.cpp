#include "policies/hosts/data_path.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/component_spec.hpp"
#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "core/engine/caches/sub_blocks.hpp"
#include "core/engine/hosts/fleet_host.hpp"
#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/hosts/prefetch_host.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/hosts/weighed_host.hpp"
#include "policies/hosts/admission.hpp"
#include "policies/hosts/admission_registry.hpp"
#include "policies/hosts/data_path_text.hpp"
#include "policies/prefetch/registry.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/registry/weighing.hpp"

namespace mcsim {
namespace {

bool is_none(const ComponentSpec& filter) { return filter.name == AdmitAll::kInfo.name; }

// Return the tier that prefetches, or the number of tiers.
std::size_t prefetching_tier(const std::vector<ComponentSpec>& prefetchers) {
  const auto found = std::ranges::find_if_not(prefetchers, is_none);
  return static_cast<std::size_t>(found - prefetchers.begin());
}

// The block ids of the VMs of a partition: [first, end).
struct IdRange {
  BlockId first = kNoBlock;
  BlockId end = 0;
};

std::vector<IdRange> ids_of_parts(const Accesses& trace, const Division& division) {
  std::vector<IdRange> ranges(division.targets[0].size());
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    IdRange& range = ranges[division.part_of[vm]];
    const VmInfo& info = trace.vms[vm];
    range.first = std::min(range.first, info.first_id);
    range.end = std::max(range.end, info.first_id + info.unique_blocks);
  }
  return ranges;
}

// Return whether a part may ever hold more blocks than its first target.
bool may_grow(const Division& division) {
  return division.changeable || division.rules.mode != ResizeMode::kEager;
}

// Derive a seed from the name of its user, so that an additional user leaves the other seeds
// unchanged.
std::uint64_t seed_of(std::uint64_t seed, std::size_t tier, std::size_t part) {
  return Random(seed).split(fmt::format("tier {} part {}", tier, part))();
}

absl::StatusOr<std::unique_ptr<TierCache>> make_tier_cache(const ComponentSpec& policy,
                                                           const PolicySetup& setup,
                                                           std::uint32_t line_blocks) {
  if (line_blocks > 1) {
    const auto make = [&](const PolicySetup& of_lines) {
      return eviction_registry().make(policy.name, policy.params, of_lines);
    };
    return make_sub_block_cache(make, setup, line_blocks);
  }
  return eviction_registry().make(policy.name, policy.params, setup);
}

// Create a tier of all hosts.
absl::StatusOr<Tier> make_tier(const ComponentSpec& policy, const ComponentSpec& admission,
                               const Machine& machine, std::size_t tier, const Accesses& trace,
                               const Division& division, const std::shared_ptr<SlotTable>& table,
                               const HostOfVm& host_of, std::uint64_t seed) {
  const Count capacity = machine.tiers[tier].capacity_blocks;
  const std::vector<IdRange> ids = ids_of_parts(trace, division);
  std::vector<Tier::Part> parts;
  for (std::size_t part = 0; part < ids.size(); ++part) {
    const Count target = division.targets[tier][part];
    const Count most = may_grow(division) ? capacity : target;
    const PolicySetup setup{.capacity = std::max<Count>(trace.line_blocks, most),
                            .blocks = ids[part].end - ids[part].first,
                            .first_block = ids[part].first,
                            .table = table,
                            .column = tier,
                            .seed = seed_of(seed, tier, part),
                            .trace = trace.ids};
    MCSIM_ASSIGN_OR_RETURN(auto cache, make_tier_cache(policy, setup, trace.line_blocks));
    parts.push_back({.cache = std::move(cache), .target = target});
  }
  const AdmissionSetup setup{
      .capacity = capacity, .blocks = trace.id_count(), .seed = seed_of(seed, tier, kNoSlot)};
  std::vector<std::unique_ptr<AdmissionFilter>> filters;
  while (filters.size() < machine.fleet.count()) {
    MCSIM_ASSIGN_OR_RETURN(filters.emplace_back(),
                           admission_registry().make(admission.name, admission.params, setup));
  }
  std::unique_ptr<AdmissionFilter> filter;
  if (machine.fleet.several()) {
    filter = std::make_unique<FilterByHost>(std::move(filters), host_of, trace);
  } else {
    filter = std::move(filters[0]);
  }
  if (is_none(admission)) filter.reset();
  return Tier(capacity * static_cast<Count>(machine.fleet.count()), std::move(parts),
              division.rules, std::move(filter));
}

// Return whether the specialised LRU structures apply: exclusive_lru.hpp and partitioned_lru.hpp.
bool is_lru(const TierTexts& of, const Accesses& trace) {
  const auto is_lru = [](const ComponentSpec& policy) {
    return policy.name == "lru" && policy.params.empty();
  };
  return trace.line_blocks == 1 && std::ranges::all_of(of.policies, is_lru) &&
         std::ranges::all_of(of.filters, is_none);
}

// Return whether one part, which does not change, has the whole tier: no division rule applies.
bool is_undivided(const Division& division, std::size_t tier, Count capacity) {
  const std::vector<Count>& targets = division.targets[tier];
  return !division.changeable && targets.size() == 1 && targets[0] == capacity;
}

// Create an LRU tier on a PartitionedLru; none if it needs too many log entries.
std::optional<Tier> lru_tier(Count capacity, std::size_t tier, const Accesses& trace,
                             const Division& division, const std::shared_ptr<SlotTable>& table) {
  std::vector<std::uint64_t> most;
  for (const IdRange& ids : ids_of_parts(trace, division)) {
    const Count room = may_grow(division) ? capacity : division.targets[tier][most.size()];
    most.push_back(std::min<std::uint64_t>(ids.end - ids.first, static_cast<std::uint64_t>(room)));
  }
  if (PartitionedLru::entries(most) >= kNoBlock) return std::nullopt;
  const DivisionRules rules = is_undivided(division, tier, capacity)
                                  ? DivisionRules{.mode = ResizeMode::kEager}
                                  : division.rules;
  return Tier(capacity, division.targets[tier], PartitionedLru(TableColumn(table, tier), most),
              rules);
}

// Check that no option applies to single blocks if lines have several blocks.
absl::Status check_lines(const TierTexts& of, const Division& division, const Accesses& trace) {
  const Count line = trace.line_blocks;
  if (line == 1) return absl::OkStatus();
  if (!std::ranges::all_of(of.filters, is_none)) {
    return invalid_argument("line: admission filters need lines of 1 block");
  }
  if (division.changeable) {
    return invalid_argument("line: a system that changes targets needs lines of 1 block");
  }
  for (const std::vector<Count>& tier : division.targets) {
    for (const Count target : tier) {
      if (target > 0 && target < line) {
        return invalid_argument("line: a target of {} blocks is smaller than a line of {}", target,
                                line);
      }
    }
  }
  return absl::OkStatus();
}

// Parse the write modes: by VM or, without names of VMs, all modes in the text.
absl::StatusOr<ModesByTier> write_modes(const DataPathParams& params, std::size_t tiers,
                                        const std::vector<std::string>& vms,
                                        bool stages_data = false) {
  MCSIM_ASSIGN_OR_RETURN(ModesByTier modes,
                         vms.empty() ? read_writes(params.writes, tiers)
                                     : read_writes(params.writes, tiers, {vms.begin(), vms.end()}));
  const absl::Status possible = check_chain_writes(params.chain, modes, stages_data);
  if (!possible.ok()) return invalid_argument("writes: {}", message_of(possible));
  return modes;
}

absl::StatusOr<WriteRules> write_rules(const DataPathParams& params, const Machine& machine,
                                       const Accesses& trace) {
  WriteRules rules{.modes = {},
                   .by_tier = {},
                   .update_around = params.update_around,
                   .flush_every = params.flush_every.ns};
  std::vector<std::string> names;
  for (const VmInfo& vm : trace.vms) names.push_back(vm.name);
  MCSIM_ASSIGN_OR_RETURN(rules.by_tier, write_modes(params, machine.tiers.size(), names));
  if (params.dirty_limit < 1) {
    Count space = 0;
    for (const TierSpec& tier : machine.tiers) space += tier.capacity_blocks;
    rules.most_dirty = floor_share(params.dirty_limit, space);
  }
  return rules;
}

Allocation by_vm(const Division& division) {
  Allocation targets(division.targets.size(), division.part_of.size());
  for (std::size_t k = 0; k < targets.tiers(); ++k) {
    for (std::size_t vm = 0; vm < targets.vms(); ++vm) {
      targets.at(k, vm) = division.targets[k][division.part_of[vm]];
    }
  }
  return targets;
}

// The parameters of a data path, parsed.
struct DataPathSpec {
  Chain chain;
  TierTexts tiers;
  std::vector<ComponentSpec> prefetchers;  // by tier
  WriteRules writes;
};

absl::StatusOr<DataPathSpec> parse(const DataPathParams& params, const Machine& machine,
                                   const Accesses& trace) {
  DataPathSpec spec{.chain = params.chain, .tiers = {}, .prefetchers = {}, .writes = {}};
  MCSIM_ASSIGN_OR_RETURN(spec.tiers,
                         read_tiers(params.policy, params.admission, machine.tiers.size()));
  MCSIM_ASSIGN_OR_RETURN(spec.prefetchers, read_prefetchers(params.prefetch, machine.tiers.size()));
  MCSIM_ASSIGN_OR_RETURN(spec.writes, write_rules(params, machine, trace));
  return spec;
}

// Return the times of reads that bring blocks into tiers; none if no tier has delayed hits.
std::optional<FetchTimes> fetch_times(const Machine& machine, const Accesses& trace) {
  if (!machine.has_delayed_hits()) return std::nullopt;
  FetchTimes times;
  for (const TierSpec& tier : machine.tiers) {
    times.delays_hits.push_back(tier.delayed_hits);
    times.tier_ns.push_back(std::llround(tier.device.read_ns));
  }
  for (const VmInfo& vm : trace.vms) {
    times.backend_ns.push_back(std::llround(machine.backend_read_ns(vm.name)));
  }
  return times;
}

// Create the tiers as a TieredHost.
absl::StatusOr<std::unique_ptr<TieredHost>> make_tiers(DataPathSpec spec, const Machine& machine,
                                                       const Accesses& trace,
                                                       const Division& division,
                                                       const HostOfVm& host_of,
                                                       std::uint64_t seed) {
  const std::size_t tiers = machine.tiers.size();
  MCSIM_RETURN_IF_ERROR(check_lines(spec.tiers, division, trace));
  TieredSetup setup{.chain = spec.chain,
                    .tiers = {},
                    .table = std::make_shared<SlotTable>(trace.id_count(), tiers),
                    .part_of = division.part_of,
                    .changeable = division.changeable,
                    .writes = std::move(spec.writes),
                    .fetches = fetch_times(machine, trace)};
  for (std::size_t k = 0; k < tiers; ++k) {
    MCSIM_ASSIGN_OR_RETURN(
        Tier tier, make_tier(spec.tiers.policies[k], spec.tiers.filters[k], machine, k, trace,
                             division, setup.table, host_of, seed));
    setup.tiers.push_back(std::move(tier));
  }
  return TieredHost::make(std::move(setup), trace);
}

// Create the tiers, of which one prefetches.
absl::StatusOr<std::unique_ptr<Host>> make_prefetching(
    const DataPathSpec& spec, const Machine& machine, const Accesses& trace,
    const Division& division, const HostOfVm& host_of, std::uint64_t seed) {
  if (trace.line_blocks > 1) {
    return invalid_argument("prefetch: needs lines of 1 block, got {}", trace.line_blocks);
  }
  if (machine.has_delayed_hits()) {
    return invalid_argument("prefetch: tiers with delayed_hits have no rule for it");
  }
  const std::size_t tier = prefetching_tier(spec.prefetchers);
  const ComponentSpec& given = spec.prefetchers[tier];
  MCSIM_ASSIGN_OR_RETURN(auto prefetcher, prefetch_registry().make(given.name, given.params,
                                                                   {.vms = trace.vms.size()}));
  return PrefetchHost::make(std::move(prefetcher), tier, machine.tiers.size(), trace,
                            [&](const Accesses& renumbered) {
                              return make_tiers(spec, machine, renumbered, division, host_of, seed);
                            });
}

// Create the tiers as a TieredHost, or as several of them.
absl::StatusOr<std::unique_ptr<Host>> make_tiered(DataPathSpec spec, const Machine& machine,
                                                  const Accesses& trace, const Division& division,
                                                  std::uint64_t seed) {
  const auto host_of = std::make_shared<std::vector<std::size_t>>(hosts_of(machine, trace));
  if (prefetching_tier(spec.prefetchers) < machine.tiers.size()) {
    return make_prefetching(spec, machine, trace, division, host_of, seed);
  }
  MCSIM_ASSIGN_OR_RETURN(auto host,
                         make_tiers(std::move(spec), machine, trace, division, host_of, seed));
  if (!machine.fleet.several()) return host;
  return FleetHost::make(std::move(host), machine, trace, host_of);
}

// Create the tier of objects with sizes.
absl::StatusOr<std::unique_ptr<Host>> make_weighed(const DataPathSpec& spec, const Accesses& trace,
                                                   const Division& division, std::uint64_t seed) {
  if (division.changeable) {
    return invalid_argument("capacities in bytes: a system that changes its division has no rule");
  }
  const ComponentSpec& policy = spec.tiers.policies.front();
  const std::vector<IdRange> ids = ids_of_parts(trace, division);
  const auto table = std::make_shared<SlotTable>(trace.id_count(), 1);
  std::vector<WeighedHost::Part> parts;
  for (std::size_t part = 0; part < ids.size(); ++part) {
    const Count target = division.targets[0][part];
    if (target == 0) return invalid_argument("capacities in bytes: a part has none");
    const PolicySetup setup{.capacity = target,
                            .blocks = ids[part].end - ids[part].first,
                            .first_block = ids[part].first,
                            .table = table,
                            .seed = seed_of(seed, 0, part),
                            .trace = trace.ids};
    MCSIM_ASSIGN_OR_RETURN(auto cache, weighing_registry().make(policy.name, policy.params, setup));
    parts.push_back({.cache = std::move(cache)});
  }
  return WeighedHost::make(std::move(parts), division.part_of, trace);
}

// Check what a tier of objects with sizes does not have.
absl::Status check_in_bytes(const DataPathParams& params, const TierTexts& of,
                            const SystemContext& context) {
  if (context.machine.tiers.size() > 1 || context.machine.fleet.several()) {
    return invalid_argument("capacities in bytes: expected one tier of one host");
  }
  if (params.writes != DataPathParams{}.writes) {
    return invalid_argument("writes: capacities in bytes need '{}'", DataPathParams{}.writes);
  }
  if (!std::ranges::all_of(of.filters, is_none)) {
    return invalid_argument("admission: filters have no rule for capacities in bytes");
  }
  if (context.machine.has_delayed_hits()) {
    return invalid_argument("delayed_hits: capacities in bytes have no rule for them");
  }
  if (params.prefetch != DataPathParams{}.prefetch) {
    return invalid_argument("prefetch: capacities in bytes need '{}'", DataPathParams{}.prefetch);
  }
  const ComponentSpec& policy = of.policies.front();
  const auto made = weighing_registry().make(policy.name, policy.params, {.blocks = 1});
  if (made.ok() || weighing_registry().find(policy.name).ok()) return made.status();
  return invalid_argument("policy: {} has no rule for objects of different sizes", policy.name);
}

// Check the prefetchers, and the policies of tiers that prefetch.
absl::Status check_prefetch(const DataPathParams& params, const TierTexts& of,
                            const Machine& machine) {
  const std::size_t tiers = machine.tiers.size();
  MCSIM_ASSIGN_OR_RETURN(const auto prefetchers, read_prefetchers(params.prefetch, tiers));
  for (const ComponentSpec& given : prefetchers) {
    MCSIM_RETURN_IF_ERROR(prefetch_registry().make(given.name, given.params, {}).status());
  }
  if (prefetching_tier(prefetchers) == tiers) return absl::OkStatus();
  if (machine.fleet.several()) {
    return invalid_argument("prefetch: needs a single host, got {}", machine.fleet.count());
  }
  for (const ComponentSpec& policy : of.policies) {
    MCSIM_ASSIGN_OR_RETURN(const auto cache,
                           make_tier_cache(policy, {.capacity = 1, .blocks = 1}, 1));
    if (!cache->needs_next_use()) continue;
    return invalid_argument(
        "prefetch: the policy {} reads the future of the trace, in which "
        "prefetched blocks have no accesses",
        policy.name);
  }
  return absl::OkStatus();
}

// Create LRU tiers that hold copies of a block.
absl::StatusOr<std::unique_ptr<Host>> make_lru_copies(DataPathSpec spec, const Machine& machine,
                                                      const Accesses& trace,
                                                      const Division& division,
                                                      std::uint64_t seed) {
  TieredSetup setup{.chain = spec.chain,
                    .tiers = {},
                    .table = std::make_shared<SlotTable>(trace.id_count(), machine.tiers.size()),
                    .part_of = division.part_of,
                    .changeable = division.changeable,
                    .writes = spec.writes};
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    std::optional<Tier> tier =
        lru_tier(machine.tiers[k].capacity_blocks, k, trace, division, setup.table);
    if (!tier) return make_tiered(std::move(spec), machine, trace, division, seed);
    setup.tiers.push_back(*std::move(tier));
  }
  return TieredHost::make(std::move(setup), trace);
}

}  // namespace

DataPathParams data_path_of(const LruPathParams& params) {
  DataPathParams path;
  path.writes = params.writes;
  return path;
}

absl::Status check(const DataPathParams& params, const SystemContext& context) {
  const std::size_t tiers = context.machine.tiers.size();
  MCSIM_ASSIGN_OR_RETURN(const TierTexts of, read_tiers(params.policy, params.admission, tiers));
  if (context.machine.in_bytes) return check_in_bytes(params, of, context);
  if (context.machine.has_delayed_hits() && context.machine.fleet.several()) {
    return invalid_argument("delayed_hits: needs a single host, got {}",
                            context.machine.fleet.count());
  }
  for (const ComponentSpec& policy : of.policies) {
    MCSIM_RETURN_IF_ERROR(make_tier_cache(policy, {.capacity = 1, .blocks = 1}, 1).status());
  }
  MCSIM_RETURN_IF_ERROR(check_prefetch(params, of, context.machine));
  bool stages_data = false;
  for (std::size_t k = 0; k < tiers; ++k) {
    const ComponentSpec& given = of.filters[k];
    MCSIM_ASSIGN_OR_RETURN(const auto filter,
                           admission_registry().make(given.name, given.params, {}));
    stages_data = filter->staged_ns().has_value();
    if (k + 1 == tiers || !stages_data) continue;
    return invalid_argument("admission: {} of tier {} stages data: only the slowest tier may do so",
                            given.name, k);
  }
  return write_modes(params, tiers, context.vms, stages_data).status();
}

bool reads_addresses(const DataPathParams& params, std::size_t tiers) {
  const auto prefetchers = read_prefetchers(params.prefetch, tiers);
  if (prefetchers.ok() && prefetching_tier(*prefetchers) < tiers) return true;
  const auto of = read_tiers(params.policy, params.admission, tiers);
  return of.ok() && std::ranges::any_of(of->filters, [](const ComponentSpec& given) {
           const auto filter = admission_registry().make(given.name, given.params, {});
           return filter.ok() && (*filter)->reads_addresses();
         });
}

Actions divided_host_supports(const DataPathParams& params) {
  Actions all{Action::kTargets, Action::kWriteModes, Action::kAdmission};
  if (params.chain != Chain::kExclusive) all.add(Action::kWriteModesByTier);
  return all;
}

absl::Status check_hosts(const Machine& machine, const DataPathParams& params, ResizeMode mode) {
  if (!machine.fleet.several()) return absl::OkStatus();
  if (mode != ResizeMode::kEager) {
    return invalid_argument("resize_mode: must be eager with several hosts, got {}", name_of(mode));
  }
  if (params.dirty_limit == 1) return absl::OkStatus();
  return invalid_argument("dirty_limit: needs a single host, got {}", machine.fleet.count());
}

std::vector<std::size_t> hosts_of(const Machine& machine, const Accesses& trace) {
  std::vector<std::size_t> hosts;
  for (const VmInfo& vm : trace.vms) hosts.push_back(machine.fleet.host_of(vm.name));
  return hosts;
}

Division shared_by_all(const Machine& machine, const Accesses& trace) {
  Division division{.part_of = std::vector<std::size_t>(trace.vms.size(), 0), .targets = {}};
  for (const TierSpec& tier : machine.tiers) division.targets.push_back({tier.capacity_blocks});
  return division;
}

Division one_part_each(const Allocation& targets, DivisionRules rules) {
  Division division{.part_of = std::vector<std::size_t>(targets.vms()),
                    .targets = {},
                    .changeable = true,
                    .rules = rules};
  std::iota(division.part_of.begin(), division.part_of.end(), std::size_t{0});
  for (std::size_t k = 0; k < targets.tiers(); ++k) {
    division.targets.emplace_back(targets.tier(k).begin(), targets.tier(k).end());
  }
  return division;
}

absl::StatusOr<std::unique_ptr<Host>> make_data_path(const DataPathParams& params,
                                                     const Machine& machine, const Accesses& trace,
                                                     const Division& division, std::uint64_t seed) {
  MCSIM_ASSIGN_OR_RETURN(DataPathSpec spec, parse(params, machine, trace));
  if (machine.in_bytes) return make_weighed(spec, trace, division, seed);
  const bool exclusive = params.chain == Chain::kExclusive;
  const bool prefetches = prefetching_tier(spec.prefetchers) < machine.tiers.size();
  if (prefetches || machine.fleet.several() || machine.has_delayed_hits() ||
      !is_lru(spec.tiers, trace) ||
      (exclusive &&
       (machine.tiers.size() > kMostLruTiers || division.rules.mode == ResizeMode::kStrictOwn))) {
    return make_tiered(std::move(spec), machine, trace, division, seed);
  }
  if (!exclusive) return make_lru_copies(std::move(spec), machine, trace, division, seed);
  bool shared = true;
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    shared = shared && is_undivided(division, k, machine.tiers[k].capacity_blocks);
  }
  const bool one_part_each = division.targets.at(0).size() == trace.vms.size();
  if (params.update_around || (!shared && !one_part_each)) {
    return make_tiered(std::move(spec), machine, trace, division, seed);
  }
  if (shared) return make_shared_lru(machine, trace, std::move(spec.writes));
  return make_divided_lru(machine, trace, by_vm(division), division.rules, std::move(spec.writes));
}

absl::StatusOr<std::unique_ptr<Host>> make_tiered_host(const DataPathParams& params,
                                                       const Machine& machine,
                                                       const Accesses& trace,
                                                       const Division& division,
                                                       std::uint64_t seed) {
  MCSIM_ASSIGN_OR_RETURN(DataPathSpec spec, parse(params, machine, trace));
  return make_tiered(std::move(spec), machine, trace, division, seed);
}

}  // namespace mcsim
