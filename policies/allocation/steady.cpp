#include "policies/allocation/steady.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<System>> Steady::make(Params params, SystemContext context) {
  MCSIM_RETURN_IF_ERROR(check(params, context));
  MCSIM_ASSIGN_OR_RETURN(std::vector<double> gains, gains_of(context.machine, params.objective));
  return std::make_unique<Steady>(std::move(params), std::move(context), std::move(gains));
}

Steady::Steady(Params params, SystemContext context, std::vector<double> gains)
    : params_(std::move(params)),
      context_(std::move(context)),
      gains_(std::move(gains)),
      capacities_(capacities_of(context_.machine)) {}

std::vector<Timer> Steady::timers() const {
  const Nanoseconds period = params_.period.ns > 0 ? params_.period.ns : context_.interval;
  return {{.name = "sizes", .clock = {.period = period}}};
}

absl::StatusOr<std::unique_ptr<Host>> Steady::make_host(const Accesses& trace) {
  if (optimizer_ == nullptr) return invalid_argument("steady: needs an optimizer");
  MCSIM_RETURN_IF_ERROR(mode_curves_.set_modes(params_, capacities_.size(), trace.vms));
  most_ = 0;
  memories_.clear();
  candidates_.clear();
  const std::vector<double> equal(trace.vms.size(), 1.0);
  const Division division =
      one_part_each(proportional(context_.machine, equal), {.mode = params_.resize_mode});
  return make_data_path(params_, context_.machine, trace, division, context_.seed);
}

void Steady::begin(const Observation& seen) {
  const Count space = std::accumulate(capacities_.begin(), capacities_.end(), Count{0});
  unit_ = std::max<Count>(1, space / params_.grid);
  for (const double half_life : kHalfLives) {
    memories_.emplace_back().half_life = half_life;
    for (const double reluctance : kReluctances) {
      Candidate& candidate = candidates_.emplace_back();
      candidate.memory = memories_.size() - 1;
      candidate.reluctance = reluctance;
      candidate.division = candidate.before = seen.current;
    }
  }
}

// Sum `of` over VMs and tiers, weighted by the gains: its arguments are the VM and its blocks in
// tiers 0..k before and after the move.
template <class Of>
double Steady::sum_of_move(const Allocation& from, const Allocation& to, Of of) const {
  double sum = 0;
  for (std::size_t v = 0; v < to.vms(); ++v) {
    Count before = 0;
    Count after = 0;
    for (std::size_t k = 0; k < to.tiers(); ++k) {
      before += from.at(k, v);
      after += to.at(k, v);
      sum += gains_[k] * of(v, before, after);
    }
  }
  return sum;
}

double Steady::worth(const HitTable& table, const Allocation& division) const {
  return worth_of(division, gains_,
                  [&](std::size_t v, Count blocks) { return table.at(v, blocks); });
}

double Steady::worth_after_move(const HitTable& table, const Candidate& candidate) const {
  const auto hits = [&](std::size_t v, Count before, Count after) {
    const double at_least = table.at(v, std::min(before, after));
    const auto grown = static_cast<double>(std::max<Count>(0, after - before));
    return std::max(at_least, table.at(v, after) - grown);
  };
  return sum_of_move(candidate.before, candidate.division, hits);
}

double Steady::cost(const Allocation& from, const Allocation& to) const {
  return sum_of_move(from, to, [](std::size_t, Count before, Count after) {
    return static_cast<double>(std::max<Count>(0, after - before));
  });
}

bool Steady::pays(const Memory& memory, double reluctance, const Allocation& from) const {
  const double gain = worth(memory.sums, memory.best) - worth(memory.sums, from);
  return gain / memory.weight > reluctance * cost(from, memory.best);
}

absl::StatusOr<std::optional<Decision>> Steady::decide(const Observation& seen) {
  if (memories_.empty()) begin(seen);
  const Count space = std::accumulate(capacities_.begin(), capacities_.end(), Count{0});
  const std::span<const RunningCurve> curves = mode_curves_.select(seen);
  for (const RunningCurve& of : curves) most_ = std::max(most_, std::min(space, of.saturation()));
  const HitTable last = hits_of(curves, unit_, most_);
  const double keep = std::exp2(-1 / params_.regret_half_life);
  for (Candidate& candidate : candidates_) {
    candidate.score = keep * candidate.score + worth_after_move(last, candidate);
    candidate.before = candidate.division;
  }
  Decision decision;
  for (Memory& memory : memories_) {
    memory.add(last, seen.departed);
    MCSIM_ASSIGN_OR_RETURN(BestDivision best,
                           best_division(memory.sums, capacities_, gains_, *optimizer_));
    memory.best = std::move(best.targets);
    decision.evaluations += best.evaluations;
  }
  for (Candidate& candidate : candidates_) {
    const Memory& memory = memories_[candidate.memory];
    if (pays(memory, candidate.reluctance, candidate.division)) candidate.division = memory.best;
  }
  const auto leader = std::ranges::max_element(candidates_, {}, &Candidate::score);
  const Memory& memory = memories_[leader->memory];
  const Allocation& chosen = leader->division;
  decision.objective = worth(memory.sums, chosen) / memory.weight;
  decision.upper_bound = worth(memory.sums, memory.best) / memory.weight;
  const double gain = decision.objective - worth(memory.sums, seen.current) / memory.weight;
  if (gain > leader->reluctance * cost(seen.current, chosen)) decision.targets = chosen;
  return decision;
}

}  // namespace mcsim
