#include "policies/allocation/curve_maximizer.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

// Return blocks · to / from, rounded down. The product may exceed 64 bits.
Count scaled(Count blocks, Count to, Count from) {
  __extension__ using Wide = __int128;
  return static_cast<Count>(static_cast<Wide>(blocks) * to / from);
}

}  // namespace

CurveMaximizer::CurveMaximizer(const char* name, const Params& params, SystemContext context,
                               Rules rules)
    : name_(name),
      params_(params),
      machine_(std::move(context.machine)),
      interval_(params.rd_interval.ns > 0 ? params.rd_interval.ns : context.interval),
      seed_(context.seed),
      rules_(rules) {}

absl::Status CurveMaximizer::use_optimizer(std::shared_ptr<Optimizer> optimizer) {
  optimizer_ = std::move(optimizer);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Host>> CurveMaximizer::make_host(const Accesses& trace) {
  if (optimizer_ == nullptr) return invalid_argument("{}: needs an optimizer", name_);
  MCSIM_ASSIGN_OR_RETURN(priorities_, per_vm("priorities", params_.priorities, trace.vms, 1.0));
  MCSIM_RETURN_IF_ERROR(mode_curves_.set_modes(params_, machine_.tiers.size(), trace.vms));
  const std::vector<double> equal(trace.vms.size(), 1.0);
  const Division division = one_part_each(proportional(machine_, equal),
                                          {.mode = params_.resize_mode, .victim = rules_.victim});
  return make_data_path(params_, machine_, trace, division, seed_);
}

absl::StatusOr<std::optional<Decision>> CurveMaximizer::decide(const Observation& seen) {
  const std::size_t vms = seen.vms();
  const std::vector<Count> capacities = this->capacities();
  const std::size_t tiers = capacities.size();
  curves_ = mode_curves_.select(seen);
  Stage stage;
  stage.base.assign(vms, 0);
  for (std::size_t v = 0; v < vms; ++v) stage.active.push_back(active(seen, v));
  if (std::ranges::none_of(stage.active, std::identity())) return std::nullopt;

  Decision decision{.infeasible = prepare(seen)};
  Allocation targets(tiers, vms);
  const std::size_t at_once = rules_.tiers == Tiers::kTogether ? tiers : 1;
  for (stage.first = 0; stage.first < tiers; stage.first += at_once) {
    const auto from = capacities.begin() + static_cast<std::ptrdiff_t>(stage.first);
    stage.capacities.assign(from, from + static_cast<std::ptrdiff_t>(at_once));
    MCSIM_ASSIGN_OR_RETURN(const Allocation chosen, solve(seen, stage, decision));
    if (!grant(chosen, stage, targets)) return std::nullopt;
  }
  const bool as_one = rules_.tiers == Tiers::kAsOne;
  decision.targets = as_one ? over_tiers(machine_, targets.tier(0)) : std::move(targets);
  return decision;
}

std::vector<Count> CurveMaximizer::capacities() const {
  std::vector<Count> all;
  for (const TierSpec& tier : machine_.tiers) all.push_back(tier.capacity_blocks);
  if (rules_.tiers != Tiers::kAsOne) return all;
  return {std::accumulate(all.begin(), all.end(), Count{0})};
}

// Return the blocks of every VM in the tiers of the stage; inactive VMs get what they keep.
absl::StatusOr<Allocation> CurveMaximizer::solve(const Observation& seen, Stage& stage,
                                                 Decision& decision) const {
  const std::size_t vms = seen.vms();
  const std::size_t tiers = stage.capacities.size();
  Allocation kept(tiers, vms);
  for (std::size_t k = 0; k < tiers && rules_.idle == IdlePolicy::kKeep; ++k) {
    for (std::size_t v = 0; v < vms; ++v) {
      if (stage.active[v]) continue;
      const bool as_one = rules_.tiers == Tiers::kAsOne;
      kept.at(k, v) = as_one ? in_all_tiers(seen.current, v) : seen.current.at(stage.first + k, v);
      stage.capacities[k] -= kept.at(k, v);
    }
  }
  const AllocationProblem problem = problem_for(seen, stage);
  MCSIM_ASSIGN_OR_RETURN(Solution solution, optimizer_->solve(problem));
  decision.objective += solution.objective;
  decision.upper_bound += solution.upper_bound;
  decision.evaluations += solution.evaluations;
  decision.optimizer_seconds += solution.seconds;
  // Reducing a share of a faster tier would raise the need of the next one, so only the last tier
  // is reduced.
  for (std::size_t v = 0; v < vms && rules_.leftover != Leftover::kScale; ++v) {
    solution.choice[v].back() = useful_choice(problem, solution, v, tiers - 1);
  }
  Allocation chosen = solution.allocation(problem);
  for (std::size_t v = 0; v < vms; ++v) {
    if (stage.active[v]) {
      chosen.at(0, v) -= counted_base(stage, v);
      continue;
    }
    for (std::size_t k = 0; k < tiers; ++k) chosen.at(k, v) = kept.at(k, v);
  }
  return chosen;
}

AllocationProblem CurveMaximizer::problem_for(const Observation& seen, const Stage& stage) const {
  Grid from = grid(stage);
  AllocationProblem problem;
  problem.sizes = std::move(from.sizes);
  problem.capacities = std::move(from.capacities);
  const std::size_t tiers = problem.tiers();
  const std::size_t most = problem.sizes.size() - 1;
  const auto index_of = [&](Count size) {
    return static_cast<std::size_t>(std::ranges::upper_bound(problem.sizes, size) -
                                    problem.sizes.begin() - 1);
  };
  std::vector<Count> blocks(most + 1);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    std::vector<std::vector<double>> of_vm(tiers, std::vector<double>(most + 1, 0.0));
    const Count base = stage.active[v] ? counted_base(stage, v) : 0;
    std::ranges::transform(problem.sizes, blocks.begin(),
                           [&](Count size) { return std::max<Count>(size - base, 0); });
    for (std::size_t k = 0; k < tiers && stage.active[v]; ++k) {
      worth_of_all(seen, stage, v, k, blocks, of_vm[k]);
    }
    problem.value.push_back(std::move(of_vm));
    const Bounds within = stage.active[v] ? bounds(seen, stage, v) : Bounds{0, 0};
    problem.lowest.emplace_back(tiers, index_of(base + within.least));
    problem.highest.emplace_back(
        tiers, index_of(base + std::min(within.most, problem.sizes.back() - base)));
  }
  return problem;
}

void CurveMaximizer::worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm,
                                  std::size_t tier, std::span<const Count> blocks,
                                  std::span<double> worths) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    worths[i] = worth(seen, stage, vm, tier, blocks[i]);
  }
}

// Set the targets to the chosen sizes, and handle leftover space by the rule. Returns false if the
// targets are to stay unchanged.
bool CurveMaximizer::grant(const Allocation& chosen, Stage& stage, Allocation& targets) const {
  for (std::size_t k = 0; k < chosen.tiers(); ++k) {
    const Count capacity = capacities()[stage.first + k];
    const std::span<const Count> wanted = chosen.tier(k);
    std::vector<Count> granted(wanted.begin(), wanted.end());
    const Count used = std::accumulate(wanted.begin(), wanted.end(), Count{0});
    if (rules_.leftover == Leftover::kSpread) {
      spread(capacity - used, stage.active, granted);
    } else if (rules_.leftover == Leftover::kScale) {
      if (used == 0) return false;
      for (Count& blocks : granted) blocks = scaled(blocks, capacity, used);
    }
    for (std::size_t v = 0; v < granted.size(); ++v) {
      targets.at(stage.first + k, v) = granted[v];
      stage.base[v] += rules_.leftover == Leftover::kScale ? wanted[v] : granted[v];
    }
  }
  return true;
}

double CurveMaximizer::weight(const Observation& seen, std::size_t vm) const {
  const double rate =
      params_.weight == UtilityWeight::kRate ? static_cast<double>(curves(seen)[vm].accesses()) : 1;
  return priorities_[vm] * rate;
}

}  // namespace mcsim
