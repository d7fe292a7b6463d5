#include "policies/allocation/best_division.hpp"

#include <algorithm>
#include <numeric>

#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

// Joint optimisation is tried for problems with at most this number of states.
constexpr double kMostStates = 20'000;

class Divider {
 public:
  Divider(const HitTable& table, std::span<const Count> capacities, std::span<const double> gains,
          Optimizer& optimizer)
      : table_(table), capacities_(capacities), gains_(gains), optimizer_(optimizer) {
    std::partial_sum(capacities.begin(), capacities.end(), std::back_inserter(together_));
    for (std::size_t i = 0; i < table.hits.front().size(); ++i) {
      sizes_.push_back(static_cast<Count>(i) * table.unit);
    }
  }

  absl::StatusOr<BestDivision> solve(bool bound_all_sizes) {
    MCSIM_ASSIGN_OR_RETURN(best_.targets, tier_by_tier());
    MCSIM_RETURN_IF_ERROR(bound(bound_all_sizes));
    const double worth = worth_on_grid(best_.targets);
    if (worth < best_.upper_bound && is_small()) {
      MCSIM_ASSIGN_OR_RETURN(Allocation joint, all_at_once(bound_all_sizes));
      if (worth_on_grid(joint) > worth) best_.targets = std::move(joint);
    }
    return std::move(best_);
  }

 private:
  std::size_t vms() const { return table_.hits.size(); }
  std::size_t tiers() const { return capacities_.size(); }
  std::size_t most() const { return sizes_.size() - 1; }

  double worth_on_grid(const Allocation& targets) const {
    return worth_of(targets, gains_, [&](std::size_t v, Count b) { return table_.at(v, b); });
  }

  // Divide one cache of `blocks` among all VMs, each within its limit.
  absl::StatusOr<Solution> divide(Count blocks, std::span<const Count> limits) {
    AllocationProblem problem;
    problem.sizes = sizes_;
    problem.capacities = {blocks};
    for (std::size_t v = 0; v < vms(); ++v) {
      problem.value.push_back({table_.hits[v]});
      const auto limit = static_cast<std::size_t>(limits[v] / table_.unit);
      problem.lowest.push_back({0});
      problem.highest.push_back({std::min(most(), limit)});
    }
    MCSIM_ASSIGN_OR_RETURN(Solution solution, optimizer_.solve(problem));
    best_.evaluations += solution.evaluations;
    return solution;
  }

  // A limit that never binds: all space and one unit more, since sizes may be rounded up.
  std::vector<Count> unlimited() const {
    return std::vector<Count>(vms(), together_.back() + table_.unit);
  }

  absl::StatusOr<Allocation> tier_by_tier() {
    std::vector<Count> limits = unlimited();
    Allocation targets(tiers(), vms());
    for (std::size_t k = tiers(); k-- > 0;) {
      MCSIM_ASSIGN_OR_RETURN(const Solution solution, divide(together_[k], limits));
      if (k + 1 == tiers()) slowest_bound_ = solution.upper_bound;
      std::vector<Count> blocks;
      for (const auto& choice : solution.choice) blocks.push_back(sizes_[choice[0]]);
      use_all(together_[k], limits, blocks);
      // The shares of the previous step are the limits of this one. The difference is the share of
      // tier k + 1.
      for (std::size_t v = 0; v < vms(); ++v) {
        if (k + 1 < tiers()) targets.at(k + 1, v) = limits[v] - blocks[v];
      }
      limits = std::move(blocks);
    }
    for (std::size_t v = 0; v < vms(); ++v) targets.at(0, v) = limits[v];
    return targets;
  }

  // Distribute the leftover space, which no VM needs, equally within the limits.
  static void use_all(Count space, std::span<const Count> limits, std::vector<Count>& blocks) {
    Count left = space - std::accumulate(blocks.begin(), blocks.end(), Count{0});
    for (std::size_t open = blocks.size(); left > 0 && open > 0;) {
      const Count each = std::max<Count>(1, left / static_cast<Count>(open));
      open = 0;
      for (std::size_t v = 0; v < blocks.size(); ++v) {
        const Count given = std::min({each, left, limits[v] - blocks[v]});
        blocks[v] += given;
        left -= given;
        if (blocks[v] < limits[v]) ++open;
      }
    }
  }

  // Sum the upper bounds of the tiers, each divided together with the faster ones as one
  // independent cache. To bound all sizes, sizes are rounded up to multiples of the unit, which
  // adds at most unit - 1 blocks for each VM.
  absl::Status bound(bool all_sizes) {
    const Count more = all_sizes ? static_cast<Count>(vms()) * (table_.unit - 1) : 0;
    for (std::size_t k = 0; k < tiers(); ++k) {
      if (gains_[k] == 0) continue;
      double of_tier = slowest_bound_;
      if (k + 1 < tiers() || more > 0) {
        MCSIM_ASSIGN_OR_RETURN(const Solution alone, divide(together_[k] + more, unlimited()));
        of_tier = alone.upper_bound;
      }
      best_.upper_bound += gains_[k] * of_tier;
    }
    return absl::OkStatus();
  }

  bool is_small() const {
    double states = 1;
    for (const Count blocks : capacities_) states *= static_cast<double>(blocks / table_.unit + 1);
    return tiers() > 1 && states <= kMostStates;
  }

  absl::StatusOr<Allocation> all_at_once(bool bound_all_sizes) {
    AllocationProblem problem;
    problem.sizes = sizes_;
    problem.capacities.assign(capacities_.begin(), capacities_.end());
    for (const std::vector<double>& hits : table_.hits) {
      auto& tables = problem.value.emplace_back();
      for (const double gain : gains_) {
        auto& worth = tables.emplace_back();
        for (const double count : hits) worth.push_back(gain * count);
      }
    }
    MCSIM_ASSIGN_OR_RETURN(const Solution solution, optimizer_.solve(problem));
    best_.evaluations += solution.evaluations;
    if (!bound_all_sizes || table_.unit == 1) {
      best_.upper_bound = std::min(best_.upper_bound, solution.upper_bound);
    }
    Allocation targets = solution.allocation(problem);
    for (std::size_t k = 0; k < tiers(); ++k) {
      std::vector<Count> blocks(targets.tier(k).begin(), targets.tier(k).end());
      use_all(capacities_[k], unlimited(), blocks);
      for (std::size_t v = 0; v < vms(); ++v) targets.at(k, v) = blocks[v];
    }
    return targets;
  }

  const HitTable& table_;
  std::span<const Count> capacities_;
  std::span<const double> gains_;
  Optimizer& optimizer_;
  std::vector<Count> together_;  // by tier: capacity including all faster tiers
  std::vector<Count> sizes_;
  double slowest_bound_ = 0;
  BestDivision best_;
};

// Maximum number of values in the optimizer's tables: 256 MB of doubles.
constexpr Count kMostValues = Count{1} << 25;

}  // namespace

absl::StatusOr<std::vector<double>> gains_of(const Machine& machine, HitWorth worth) {
  const std::size_t tiers = machine.tiers.size();
  std::vector<double> gains(tiers, 0.0);
  if (worth == HitWorth::kHits) {
    gains.back() = 1;
    return gains;
  }
  for (std::size_t k = 0; k < tiers; ++k) {
    const Device& next = k + 1 < tiers ? machine.tiers[k + 1].device : machine.backend;
    gains[k] = next.read_ns - machine.tiers[k].device.read_ns;
    if (gains[k] >= 0) continue;
    return invalid_argument(
        "objective: latency needs tiers ordered from fast to slow: {} reads a block in {} "
        "ns, the next device, {}, in {} ns",
        machine.tiers[k].device.name, machine.tiers[k].device.read_ns, next.name, next.read_ns);
  }
  return gains;
}

CurveMeter curve_for(HitWorth worth, CurveMeter of) {
  if (worth == HitWorth::kLatency) of.ops = OpFilter::kReads;
  return of;
}

double HitTable::at(std::size_t vm, Count blocks) const {
  const auto below = static_cast<std::size_t>(blocks / unit);
  return hits[vm][std::min(below, hits[vm].size() - 1)];
}

HitTable hits_of(std::span<const RunningCurve> curves, Count unit, Count most) {
  HitTable table{.unit = unit, .hits = {}};
  const auto last = static_cast<std::size_t>((most + unit - 1) / unit);
  for (const RunningCurve& curve : curves) {
    std::vector<double>& hits = table.hits.emplace_back(last + 1);
    for (std::size_t i = 0; i <= last; ++i) {
      hits[i] = static_cast<double>(curve.hits(static_cast<Count>(i) * unit));
    }
  }
  return table;
}

absl::StatusOr<BestDivision> best_division(const HitTable& table, std::span<const Count> capacities,
                                           std::span<const double> gains, Optimizer& optimizer,
                                           bool bound_all_sizes) {
  return Divider(table, capacities, gains, optimizer).solve(bound_all_sizes);
}

absl::StatusOr<BestDivision> best_of(std::span<const RunningCurve> curves,
                                     std::span<const Count> capacities,
                                     std::span<const double> gains, Count grid,
                                     Optimizer& optimizer, bool bound_all_sizes) {
  const Count space = std::accumulate(capacities.begin(), capacities.end(), Count{0});
  Count useful = 0;  // sum over the VMs
  Count most = 0;    // maximum over the VMs
  for (const RunningCurve& curve : curves) {
    const Count blocks = std::min(space, curve.saturation());
    useful = std::min(space, useful + blocks);
    most = std::max(most, blocks);
  }
  const auto vms = static_cast<Count>(curves.size());
  for (Count sizes = std::clamp<Count>(grid, 2, std::max<Count>(2, kMostValues / vms));;
       sizes /= 2) {
    const Count unit = std::max<Count>(1, (useful + sizes - 1) / sizes);
    auto best =
        best_division(hits_of(curves, unit, most), capacities, gains, optimizer, bound_all_sizes);
    if (best.ok() || sizes < 4 || !absl::IsFailedPrecondition(best.status())) return best;
  }
}

absl::StatusOr<Decision> best_decision(std::span<const RunningCurve> curves, const Machine& machine,
                                       std::span<const double> gains, Count grid,
                                       Optimizer& optimizer, bool bound_all_sizes) {
  MCSIM_ASSIGN_OR_RETURN(const BestDivision best, best_of(curves, capacities_of(machine), gains,
                                                          grid, optimizer, bound_all_sizes));
  const double worth =
      worth_of(best.targets, gains, [&](std::size_t v, Count b) { return curves[v].hits(b); });
  return Decision{.targets = best.targets,
                  .objective = worth,
                  .upper_bound = std::max(worth, best.upper_bound),
                  .evaluations = best.evaluations};
}

std::vector<Count> capacities_of(const Machine& machine) {
  std::vector<Count> capacities;
  for (const TierSpec& tier : machine.tiers) capacities.push_back(tier.capacity_blocks);
  return capacities;
}

}  // namespace mcsim
