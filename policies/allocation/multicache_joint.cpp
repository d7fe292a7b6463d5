#include "policies/allocation/multicache_joint.hpp"

#include <algorithm>
#include <numeric>

#include "policies/allocation/shares.hpp"

namespace mcsim {

MultiCacheJoint::MultiCacheJoint(Params params, SystemContext context)
    : params_(std::move(params)),
      machine_(std::move(context.machine)),
      interval_(params_.rd_interval.ns > 0 ? params_.rd_interval.ns : context.interval),
      seed_(context.seed) {}

std::optional<ProfileSpec> MultiCacheJoint::profile() const {
  return ProfileSpec{.interval = interval_};
}

absl::Status MultiCacheJoint::use_optimizer(std::shared_ptr<Optimizer> optimizer) {
  optimizer_ = std::move(optimizer);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Host>> MultiCacheJoint::make_host(const Accesses& trace) {
  if (optimizer_ == nullptr) return invalid_argument("multicache-joint: needs an optimizer");
  MCSIM_ASSIGN_OR_RETURN(priorities_, per_vm("priorities", params_.priorities, trace.vms, 1.0));
  const std::vector<double> equal(trace.vms.size(), 1.0);
  const Division division =
      one_part_each(proportional(machine_, equal), {.mode = params_.resize_mode});
  return make_data_path(params_, machine_, trace, division, seed_);
}

absl::StatusOr<std::optional<Decision>> MultiCacheJoint::decide(const Observation& seen) {
  const std::size_t vms = seen.vms.size();
  std::vector<bool> active(vms);
  for (std::size_t v = 0; v < vms; ++v) active[v] = seen.curves[v].accesses() > 0;
  if (std::ranges::none_of(active, std::identity())) return std::nullopt;

  const AllocationProblem problem = problem_for(seen, active);
  MCSIM_ASSIGN_OR_RETURN(Solution solution, optimizer_->solve(problem));
  // Less of a faster tier would need more of the next; only the last can give.
  for (std::size_t v = 0; v < vms; ++v) {
    solution.choice[v].back() = useful_choice(problem, solution, v, problem.tiers() - 1);
  }
  Decision decision{.targets = solution.allocation(problem),
                    .objective = solution.objective,
                    .upper_bound = solution.upper_bound,
                    .evaluations = solution.evaluations,
                    .optimizer_seconds = solution.seconds};
  for (std::size_t k = 0; k < machine_.tiers.size(); ++k) {
    const std::span<const Count> chosen = decision.targets.tier(k);
    std::vector<Count> parts(chosen.begin(), chosen.end());
    const Count used = std::accumulate(parts.begin(), parts.end(), Count{0});
    spread(machine_.tiers[k].capacity_blocks - used, active, parts);
    for (std::size_t v = 0; v < vms; ++v) decision.targets.at(k, v) = parts[v];
  }
  return decision;
}

AllocationProblem MultiCacheJoint::problem_for(const Observation& seen,
                                               const std::vector<bool>& active) const {
  const std::size_t tiers = machine_.tiers.size();
  Count smallest = machine_.tiers[0].capacity_blocks;
  for (const TierSpec& tier : machine_.tiers) smallest = std::min(smallest, tier.capacity_blocks);
  const Count unit = std::max<Count>(1, smallest / params_.grid);

  AllocationProblem problem;
  Count together = 0;
  for (const TierSpec& tier : machine_.tiers) {
    problem.capacities.push_back(tier.capacity_blocks / unit * unit);
    together += problem.capacities.back();
  }
  for (Count size = 0; size <= together; size += unit) problem.sizes.push_back(size);

  for (std::size_t v = 0; v < seen.vms.size(); ++v) {
    const RunningCurve& curve = seen.curves[v];
    const double weight =
        priorities_[v] *
        (params_.weight == UtilityWeight::kRate ? static_cast<double>(curve.accesses()) : 1);
    std::vector<std::vector<double>> of_vm;
    for (std::size_t k = 0; k < tiers; ++k) {
      std::vector<double> worth;
      for (const Count size : problem.sizes) {
        worth.push_back(weight * tier_gain(k) * curve.ratio(size));
      }
      of_vm.push_back(std::move(worth));
    }
    problem.value.push_back(std::move(of_vm));
    problem.lowest.emplace_back(tiers, 0);
    problem.highest.emplace_back(tiers, active[v] ? problem.sizes.size() - 1 : 0);
  }
  return problem;
}

double MultiCacheJoint::tier_gain(std::size_t tier) const {
  const auto latency = [&](std::size_t k) {
    return k < machine_.tiers.size() ? machine_.tiers[k].device.read_ns : machine_.backend.read_ns;
  };
  if (params_.objective == JointObjective::kLatency) return latency(tier + 1) - latency(tier);
  const double backend = machine_.backend.read_ns;
  const double next = tier + 1 < machine_.tiers.size() ? backend / latency(tier + 1) : 0;
  return backend / latency(tier) - next;
}

}  // namespace mcsim
