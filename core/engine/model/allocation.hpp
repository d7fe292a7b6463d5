#pragma once

#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"

// Dividing cache space: the problem, its solution, and the interface of all optimisers.
namespace mcsim {

// The targets of all VMs in all tiers, in blocks.
class Allocation {
 public:
  Allocation() = default;
  Allocation(std::size_t tiers, std::size_t vms) : vms_(vms), blocks_(tiers * vms, 0) {}

  Count& at(std::size_t tier, std::size_t vm) { return blocks_[tier * vms_ + vm]; }
  Count at(std::size_t tier, std::size_t vm) const { return blocks_[tier * vms_ + vm]; }
  std::span<const Count> tier(std::size_t tier) const {
    return std::span(blocks_).subspan(tier * vms_, vms_);
  }
  std::size_t tiers() const { return vms_ == 0 ? 0 : blocks_.size() / vms_; }
  std::size_t vms() const { return vms_; }
  friend bool operator==(const Allocation&, const Allocation&) = default;

 private:
  std::size_t vms_ = 0;
  std::vector<Count> blocks_;  // tier-major
};

// Check that targets have this number of tiers and VMs, are not negative, and fit the capacities.
absl::Status check_targets(const Allocation& targets, std::span<const Count> capacities,
                           std::size_t vms);

// Choose, for every VM v and tier k, a cumulative size z[v][k] (blocks of v in tiers 0..k) from
// `sizes`, so that
//
//   Σ_v Σ_k value[v][k][i(v, k)]   with z[v][k] = sizes[i(v, k)]   is maximal,
//   z[v][k-1] <= z[v][k]                          for every VM and tier,
//   Σ_v (z[v][k] - z[v][k-1]) <= capacities[k]    for every tier (z[v][-1] = 0).
//
// With one tier this is the classic problem of dividing a cache; with several tiers it is the joint
// problem.
struct AllocationProblem {
  std::vector<Count> sizes;       // strictly increasing, sizes[0] == 0
  std::vector<Count> capacities;  // one per tier, blocks
  // [vm][tier][i]: value of sizes[i] cumulative blocks. Any real numbers; most are non-decreasing
  // in i. A tier's table has sizes.size() entries.
  std::vector<std::vector<std::vector<double>>> value;
  // Reservations and limits of tier 0..k together, as indices into sizes:
  // [vm][tier]. Empty: 0 and sizes.size() - 1.
  std::vector<std::vector<std::size_t>> lowest;
  std::vector<std::vector<std::size_t>> highest;

  std::size_t vms() const { return value.size(); }
  std::size_t tiers() const { return capacities.size(); }
  std::size_t low(std::size_t vm, std::size_t tier) const {
    return lowest.empty() ? 0 : lowest[vm][tier];
  }
  std::size_t high(std::size_t vm, std::size_t tier) const {
    return highest.empty() ? sizes.size() - 1 : highest[vm][tier];
  }
  // The distance between consecutive sizes if it is constant, else 0; 1 for a single size.
  Count unit() const;
  // Return the first error of the problem: shapes, order of sizes, values that are not finite,
  // bounds that cannot be met.
  absl::Status validate() const;
};

struct Solution {
  std::vector<std::vector<std::size_t>> choice;  // [vm][tier]: index into sizes
  double objective = 0;
  // Proven bound: no feasible allocation has a larger objective. Infinity if the method proves
  // none.
  double upper_bound = 0;
  Count evaluations = 0;  // of value[][][], or of whole allocations for annealing
  double seconds = 0;

  // Blocks per tier and VM (differences of the cumulative sizes).
  Allocation allocation(const AllocationProblem& problem) const;
};

// The sum of the chosen values; the only definition, used by every method and test.
double objective_of(const AllocationProblem& problem,
                    const std::vector<std::vector<std::size_t>>& choice);

// Check that `choice` obeys every bound and capacity.
absl::Status check_feasible(const AllocationProblem& problem,
                            const std::vector<std::vector<std::size_t>>& choice);

// The interface of optimisers. Every method returns a feasible solution, is deterministic for its
// seed, and breaks ties towards equal parts, then towards the lower VM id.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual absl::StatusOr<Solution> solve(const AllocationProblem& problem) = 0;
};

// A binary linear program: maximise cost·x subject to row_low <= A x <= row_high, with each x
// either 0 or 1. A is stored by rows (CSR).
struct BinaryProgram {
  std::vector<double> cost;
  std::vector<std::int32_t> row_start{0};
  std::vector<std::int32_t> column;
  std::vector<double> coefficient;
  std::vector<double> row_low;
  std::vector<double> row_high;
};

struct BinaryProgramSolution {
  std::vector<double> x;
  double objective = 0;
  double upper_bound = 0;
  Count nodes = 0;
};

// A solver outside the core (HiGHS through Python).
using BinaryProgramSolver =
    std::function<absl::StatusOr<BinaryProgramSolution>(const BinaryProgram&)>;

// The inputs of an optimiser in addition to its parameters.
struct OptimizerContext {
  std::uint64_t seed = 1;
  BinaryProgramSolver binary_program_solver{};
};

}  // namespace mcsim
