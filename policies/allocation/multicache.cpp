#include "policies/allocation/multicache.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/allocation/shares.hpp"

namespace mcsim {
namespace {

MultiCache::Params with_legacy(MultiCache::Params params) {
  if (!params.legacy) return params;
  params.block_key = BlockKey::kByteOffset;
  params.whole_seconds = true;
  params.distance_scope = DistanceScope::kCumulative;
  params.ri_window = {600 * kSecond};
  params.unique_counter = UniqueCounter::kHyperLogLog;
  params.distance_limit = 1'100'000;
  params.split_grid = true;
  params.percent_utility = true;
  params.total_size_weight = true;
  params.rescale = true;
  params.drifting_timer = true;
  params.resize_mode = ResizeMode::kLazy;
  params.victim = VictimRule::kFirstOver;
  return params;
}

// α_i of the paper, for any number of tiers: smaller tiers weigh reuse
// intensity more, and the weights sum to 1.
double reuse_weight(const Machine& machine, std::size_t tier) {
  const std::size_t tiers = machine.tiers.size();
  if (tiers == 1) return 1;
  double sum = 0;
  for (const TierSpec& spec : machine.tiers) sum += static_cast<double>(spec.capacity_blocks);
  const double share = sum > 0 ? static_cast<double>(machine.tiers[tier].capacity_blocks) / sum : 0;
  return (1 - share) / static_cast<double>(tiers - 1);
}

// `points` sizes from first to last, both included.
void append_equidistant(Count first, Count last, Count points, std::vector<Count>& sizes) {
  for (Count i = 0; i < points; ++i) sizes.push_back(first + (last - first) * i / (points - 1));
}

}  // namespace

MultiCache::MultiCache(Params params, SystemContext context)
    : params_(with_legacy(std::move(params))),
      machine_(std::move(context.machine)),
      interval_(params_.rd_interval.ns > 0 ? params_.rd_interval.ns : context.interval),
      seed_(context.seed) {}

ExpandOptions MultiCache::trace_view(ExpandOptions experiment) const {
  if (params_.block_key != BlockKey::kAligned) experiment.key = params_.block_key;
  experiment.whole_seconds = experiment.whole_seconds || params_.whole_seconds;
  return experiment;
}

std::optional<ProfileSpec> MultiCache::profile() const {
  return ProfileSpec{.interval = interval_,
                     .drifting = params_.drifting_timer,
                     .scope = params_.distance_scope,
                     .distance_limit = params_.distance_limit,
                     .ri_window = params_.ri_window.ns,
                     .ri_aggregate = params_.ri_aggregate,
                     .unique = params_.unique_counter};
}

std::optional<std::string> MultiCache::default_optimizer() const {
  return params_.legacy ? "annealing-legacy" : "annealing";
}

absl::Status MultiCache::use_optimizer(std::shared_ptr<Optimizer> optimizer) {
  optimizer_ = std::move(optimizer);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Host>> MultiCache::make_host(const Accesses& trace) {
  if (optimizer_ == nullptr) return invalid_argument("multicache: needs an optimizer");
  MCSIM_ASSIGN_OR_RETURN(priorities_, per_vm("priorities", params_.priorities, trace.vms, 1.0));
  const std::vector<double> equal(trace.vms.size(), 1.0);
  const Division division = one_part_each(proportional(machine_, equal),
                                          {.mode = params_.resize_mode, .victim = params_.victim});
  return make_data_path(params_, machine_, trace, division, seed_);
}

absl::StatusOr<std::optional<Decision>> MultiCache::decide(const Observation& seen) {
  const std::size_t vms = seen.vms.size();
  Decision decision{.targets = Allocation(machine_.tiers.size(), vms)};
  Step step;
  step.base.assign(vms, 0);
  for (std::size_t v = 0; v < vms; ++v) step.active.push_back(seen.curves[v].accesses() > 0);
  if (std::ranges::none_of(step.active, std::identity())) return std::nullopt;

  for (step.tier = 0; step.tier < machine_.tiers.size(); ++step.tier) {
    MCSIM_ASSIGN_OR_RETURN(const std::vector<Count> chosen, divide(seen, step, decision));
    if (params_.rescale && std::ranges::all_of(chosen, [](Count c) { return c == 0; })) {
      return std::nullopt;
    }
    std::vector<Count> granted = chosen;
    const Count capacity = machine_.tiers[step.tier].capacity_blocks;
    const Count used = std::accumulate(chosen.begin(), chosen.end(), Count{0});
    if (params_.rescale) {
      for (Count& blocks : granted) blocks = blocks * capacity / used;
    } else {
      spread(capacity - used, step.active, granted);
    }
    for (std::size_t v = 0; v < vms; ++v) {
      decision.targets.at(step.tier, v) = granted[v];
      step.base[v] += params_.rescale ? chosen[v] : granted[v];
    }
  }
  return decision;
}

// Solves one tier: blocks for every VM, of those not active what they keep.
absl::StatusOr<std::vector<Count>> MultiCache::divide(const Observation& seen, Step& step,
                                                      Decision& decision) const {
  std::vector<Count> chosen(seen.vms.size(), 0);
  step.capacity = machine_.tiers[step.tier].capacity_blocks;
  if (params_.idle == IdlePolicy::kKeep) {
    for (std::size_t v = 0; v < chosen.size(); ++v) {
      if (!step.active[v]) step.capacity -= chosen[v] = seen.current.at(step.tier, v);
    }
  }
  const AllocationProblem problem = problem_for(seen, step);
  MCSIM_ASSIGN_OR_RETURN(const Solution solution, optimizer_->solve(problem));
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    if (!step.active[v]) continue;
    const std::size_t choice =
        params_.rescale ? solution.choice[v][0] : useful_choice(problem, solution, v, 0);
    chosen[v] = problem.sizes[choice] - counted_base(step, v);
  }
  decision.objective += solution.objective;
  decision.upper_bound += solution.upper_bound;
  decision.evaluations += solution.evaluations;
  decision.optimizer_seconds += solution.seconds;
  return chosen;
}

AllocationProblem MultiCache::problem_for(const Observation& seen, const Step& step) const {
  const std::size_t vms = seen.vms.size();
  AllocationProblem problem;
  problem.sizes = sizes_for(step);
  problem.capacities = {step.capacity};
  const auto index_of = [&](Count size) {
    return static_cast<std::size_t>(std::ranges::upper_bound(problem.sizes, size) -
                                    problem.sizes.begin() - 1);
  };
  const double sure =
      params_.minimum_share * static_cast<double>(step.capacity) / static_cast<double>(vms);
  for (std::size_t v = 0; v < vms; ++v) {
    const Count base = counted_base(step, v);
    std::vector<double> worth;
    for (const Count size : problem.sizes) {
      worth.push_back(step.active[v] ? utility(seen, step, v, std::max<Count>(size - base, 0)) : 0);
    }
    problem.value.push_back({std::move(worth)});
    const std::size_t low = step.active[v] ? index_of(base + static_cast<Count>(sure)) : 0;
    problem.lowest.push_back({low});
    problem.highest.push_back({step.active[v] ? problem.sizes.size() - 1 : 0});
  }
  return problem;
}

// The sizes a VM may be given: a uniform grid over the tier, or the points the
// authors sample their curves at.
std::vector<Count> MultiCache::sizes_for(const Step& step) const {
  std::vector<Count> grid;
  if (params_.split_grid) {
    const Count half = std::max<Count>(params_.grid / 2, 2);
    const Count first = machine_.tiers.front().capacity_blocks;
    append_equidistant(0, first, half, grid);
    append_equidistant(first, std::max(first, machine_.tiers.back().capacity_blocks), half, grid);
  } else {
    const Count unit = std::max<Count>(1, step.capacity / params_.grid);
    for (Count size = 0; size <= step.capacity; size += unit) grid.push_back(size);
  }
  // Sizes that include the faster tiers start at a different base for each VM.
  std::vector<Count> sizes{0};
  for (std::size_t v = 0; v < step.base.size(); ++v) {
    if (!step.active[v]) continue;
    for (const Count size : grid) sizes.push_back(counted_base(step, v) + size);
  }
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  return sizes;
}

double MultiCache::utility(const Observation& seen, const Step& step, std::size_t v,
                           Count blocks) const {
  const RunningCurve& curve = seen.curves[v];
  const Count base = step.base[v];
  const double gained = curve.ratio(base + blocks) - curve.ratio(base);
  const double reuse = reuse_weight(machine_, step.tier) * reuse_term(seen.vms[v], step, blocks);
  if (params_.percent_utility) return std::trunc(100 * (gained + reuse));
  const double speed = machine_.backend.read_ns / machine_.tiers[step.tier].device.read_ns;
  const double weight =
      params_.weight == UtilityWeight::kRate ? static_cast<double>(curve.accesses()) : 1;
  return priorities_[v] * weight * (speed * gained + reuse);
}

double MultiCache::reuse_term(const VmProfile& vm, const Step& step, Count blocks) const {
  switch (params_.ri_mode) {
    case RiMode::kLiteral:
      return vm.reuse_intensity;
    case RiMode::kGated:
      return blocks > 0 ? vm.reuse_intensity : 0;
    case RiMode::kLinear: {
      const Count full = std::min(step.capacity, vm.ri_window_unique);
      if (full <= 0) return 0;
      return vm.reuse_intensity *
             std::min(1.0, static_cast<double>(blocks) / static_cast<double>(full));
    }
  }
  return 0;
}

// What the sizes of this step count beside the tier's own blocks.
Count MultiCache::counted_base(const Step& step, std::size_t v) const {
  return params_.total_size_weight ? step.base[v] : 0;
}

}  // namespace mcsim
