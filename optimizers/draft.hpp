#pragma once

#include <chrono>
#include <vector>

#include "core/engine/allocation.hpp"

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

  const AllocationProblem& problem() const { return *problem_; }
  const Choice& choice() const { return choice_; }
  std::size_t at(std::size_t vm, std::size_t tier) const { return choice_[vm][tier]; }
  std::size_t high(std::size_t vm, std::size_t tier) const { return limits_.high[vm][tier]; }
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
  // the gain.
  template <class Allowed>
  void spread(Allowed allowed) {
    for (std::size_t k = 0; k < left_.size(); ++k) {
      while (true) {
        std::size_t poorest = choice_.size();
        for (std::size_t v = 0; v < choice_.size(); ++v) {
          const std::size_t next = at(v, k) + 1;
          if (next > high(v, k) || blocks_needed(v, k, next) > left_[k]) continue;
          if (poorest < choice_.size() && part(v, k) >= part(poorest, k)) continue;
          if (allowed(gain(v, k, next))) poorest = v;
        }
        if (poorest == choice_.size()) break;
        raise(poorest, k, at(poorest, k) + 1);
      }
    }
  }

  // The rule of every method for space that decides nothing: it is given away
  // equally unless that would cost value.
  void fill() {
    spread([](double gain) { return gain >= 0; });
  }

 private:
  const AllocationProblem* problem_;
  Limits limits_;
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
