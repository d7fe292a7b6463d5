#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/run/allocation.hpp"

// An allocation under construction, and the two ways in which every heuristic
// finishes one: grow() by marginal utility, spread() what is left.
namespace mcsim {

using Choice = std::vector<std::vector<std::size_t>>;  // [vm][tier], as in Solution

// Bounds closed under z[v][k-1] <= z[v][k]: what a faster tier reserves, the
// slower ones reserve too; what a slower tier denies, the faster ones deny too.
struct Limits {
  Choice low;
  Choice high;
};
Limits closed_limits(const AllocationProblem& problem);

// Cumulative sizes and the blocks left in every tier. Sizes only rise.
class Draft {
 public:
  // Everyone at its reservation. Fails if reservations of slower tiers, which
  // lean on space in faster ones, cannot be met together.
  static absl::StatusOr<Draft> at_reservations(const AllocationProblem& problem);
  // At a feasible choice.
  Draft(const AllocationProblem& problem, Choice choice);
  // At another one of the same problem.
  Draft at(Choice choice) const { return {*problem_, limits_, std::move(choice)}; }

  const AllocationProblem& problem() const { return *problem_; }
  const Choice& choice() const { return choice_; }
  std::size_t at(std::size_t vm, std::size_t tier) const { return choice_[vm][tier]; }
  std::size_t high(std::size_t vm, std::size_t tier) const { return limits_->high[vm][tier]; }
  const Limits& limits() const { return *limits_; }
  Count left(std::size_t tier) const { return left_[tier]; }
  // Blocks of the tier itself.
  Count part(std::size_t vm, std::size_t tier) const;

  // Raising tiers 0..`tier` of a VM to sizes[to], at(vm, tier) < to <= high: the
  // slower tiers rise with it only as far as they must, so only `tier` pays.
  Count blocks_needed(std::size_t vm, std::size_t tier, std::size_t to) const {
    return problem_->sizes[to] - problem_->sizes[choice_[vm][tier]];
  }
  double gain(std::size_t vm, std::size_t tier, std::size_t to) const;
  void raise(std::size_t vm, std::size_t tier, std::size_t to);

  // Gives what is left, fastest tier first, size by size to the VM with the
  // smallest part of the tier (ties: the lower id), as long as `allowed` likes
  // the gain. O(V + S log V) a tier for S sizes given.
  template <class Allowed>
  void spread(Allowed allowed) {
    for (std::size_t k = 0; k < left_.size(); ++k) spread_tier(k, allowed);
  }

  // The rule of every method for space that decides nothing: it is given away
  // equally unless that would cost value.
  void fill() {
    spread([](double gain) { return gain >= 0; });
  }

 private:
  Draft(const AllocationProblem& problem, std::shared_ptr<const Limits> limits, Choice choice);

  // Who cannot take the next size will not be able to later: there is never more left, and nothing
  // else that counts changes but for who is raised.
  template <class Allowed>
  void spread_tier(std::size_t tier, Allowed allowed) {
    const auto takes = [&](std::size_t v) {
      const std::size_t next = at(v, tier) + 1;
      return next <= high(v, tier) && blocks_needed(v, tier, next) <= left_[tier] &&
             allowed(gain(v, tier, next));
    };
    std::vector<std::pair<Count, std::size_t>> poor;  // a heap by part, then id: the least first
    for (std::size_t v = 0; v < choice_.size(); ++v) {
      if (takes(v)) poor.emplace_back(part(v, tier), v);
    }
    std::ranges::make_heap(poor, std::greater());
    while (!poor.empty()) {
      std::ranges::pop_heap(poor, std::greater());
      const std::size_t poorest = poor.back().second;
      poor.pop_back();
      if (!takes(poorest)) continue;
      raise(poorest, tier, at(poorest, tier) + 1);
      if (!takes(poorest)) continue;
      poor.emplace_back(part(poorest, tier), poorest);
      std::ranges::push_heap(poor, std::greater());
    }
  }

  const AllocationProblem* problem_;
  std::shared_ptr<const Limits> limits_;  // those of a problem are of all its drafts
  Choice choice_;
  std::vector<Count> left_;
};

// Utility-based look-ahead (Qureshi and Patt, MICRO 2006): again and again the
// step, of any length that fits, with the greatest gain per block (ties: the
// shortest, then the VM with the smallest part, then the lower id), while any
// gains. Across tiers a block counts by its share of its tier. Returns the
// number of values looked at. O(V T n) per step at worst, mostly O(T n).
Count grow(Draft& draft);

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// `bound` is proven up to rounding; the objective itself is never above it.
Solution make_solution(const AllocationProblem& problem, Choice choice, double bound,
                       Count evaluations, const Stopwatch& watch);

// For methods that divide a single tier.
absl::Status require_one_tier(const AllocationProblem& problem, std::string_view method);

}  // namespace mcsim
