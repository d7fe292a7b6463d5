#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/model/allocation.hpp"

// An allocation under construction, and the two steps by which every heuristic finishes one: grow()
// by marginal utility, and distribute_leftover() for the leftover.
namespace mcsim {

using Choice = std::vector<std::vector<std::size_t>>;  // [vm][tier], as in Solution

// Bounds closed under z[v][k-1] <= z[v][k]: lower bounds of a faster tier apply to slower ones too,
// upper bounds of a slower tier to faster ones.
struct Limits {
  Choice low;
  Choice high;
};
Limits closed_limits(const AllocationProblem& problem);

// Cumulative sizes and the free blocks of every tier. Sizes only increase.
class PartialAllocation {
 public:
  // Create an allocation with every VM at its reservation. Fails if reservations of slower tiers,
  // which use space in faster ones, cannot be met together.
  static absl::StatusOr<PartialAllocation> at_reservations(const AllocationProblem& problem);
  // Start from a feasible choice.
  PartialAllocation(const AllocationProblem& problem, Choice choice);
  // Start from another choice of the same problem.
  PartialAllocation at(Choice choice) const { return {*problem_, limits_, std::move(choice)}; }

  const AllocationProblem& problem() const { return *problem_; }
  const Choice& choice() const { return choice_; }
  std::size_t at(std::size_t vm, std::size_t tier) const { return choice_[vm][tier]; }
  std::size_t high(std::size_t vm, std::size_t tier) const { return limits_->high[vm][tier]; }
  const Limits& limits() const { return *limits_; }
  Count left(std::size_t tier) const { return left_[tier]; }
  // Return the blocks of a VM in the tier itself.
  Count part(std::size_t vm, std::size_t tier) const;

  // Raising tiers 0..`tier` of a VM to sizes[to], at(vm, tier) < to <= high: the slower tiers rise
  // only as far as necessary, so only `tier` loses free space.
  Count blocks_needed(std::size_t vm, std::size_t tier, std::size_t to) const {
    return problem_->sizes[to] - problem_->sizes[choice_[vm][tier]];
  }
  double gain(std::size_t vm, std::size_t tier, std::size_t to) const;
  void raise_to(std::size_t vm, std::size_t tier, std::size_t to);

  // Distribute the leftover, fastest tier first, one size step at a time to the VM with the
  // smallest part of the tier (ties: the lower id), while `allowed` accepts the gain. O(V + S log
  // V) per tier for S steps.
  template <class Allowed>
  void distribute_leftover(Allowed allowed) {
    for (std::size_t k = 0; k < left_.size(); ++k) distribute_tier(k, allowed);
  }

  // Distribute leftover space equally unless that would reduce the value: the common last step of
  // all methods.
  void fill() {
    distribute_leftover([](double gain) { return gain >= 0; });
  }

 private:
  PartialAllocation(const AllocationProblem& problem, std::shared_ptr<const Limits> limits,
                    Choice choice);

  // A VM that cannot take the next size cannot take it later: free space never grows, and its other
  // conditions change only when the VM itself is raised.
  template <class Allowed>
  void distribute_tier(std::size_t tier, Allowed allowed) {
    const auto takes = [&](std::size_t v) {
      const std::size_t next = at(v, tier) + 1;
      return next <= high(v, tier) && blocks_needed(v, tier, next) <= left_[tier] &&
             allowed(gain(v, tier, next));
    };
    std::vector<std::pair<Count, std::size_t>>
        smallest;  // a heap by part, then id: the smallest first
    for (std::size_t v = 0; v < choice_.size(); ++v) {
      if (takes(v)) smallest.emplace_back(part(v, tier), v);
    }
    std::ranges::make_heap(smallest, std::greater());
    while (!smallest.empty()) {
      std::ranges::pop_heap(smallest, std::greater());
      const std::size_t smallest_vm = smallest.back().second;
      smallest.pop_back();
      if (!takes(smallest_vm)) continue;
      raise_to(smallest_vm, tier, at(smallest_vm, tier) + 1);
      if (!takes(smallest_vm)) continue;
      smallest.emplace_back(part(smallest_vm, tier), smallest_vm);
      std::ranges::push_heap(smallest, std::greater());
    }
  }

  const AllocationProblem* problem_;
  std::shared_ptr<const Limits> limits_;  // shared by all drafts of a problem
  Choice choice_;
  std::vector<Count> left_;
};

// Utility-based look-ahead (Qureshi and Patt, MICRO 2006): repeat the step, of any length that
// fits, with the greatest gain per block, while one gains (ties: the shortest, then the VM with the
// smallest part, then the lower id). Across tiers a block counts by its share of its tier. Returns
// the number of evaluated values. O(V T n) per step at worst, mostly O(T n).
Count grow(PartialAllocation& draft);

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Return a solution. `bound` is proven up to rounding; it is raised to the objective if below.
Solution make_solution(const AllocationProblem& problem, Choice choice, double bound,
                       Count evaluations, const Stopwatch& watch);

// Check that the problem has a single tier, for methods that need one.
absl::Status require_one_tier(const AllocationProblem& problem, std::string_view method);

}  // namespace mcsim
