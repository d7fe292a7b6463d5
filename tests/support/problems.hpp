#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/model/allocation.hpp"

// Random allocation problems for tests.
namespace mcsim::testing {

inline std::vector<Count> units(std::size_t count, Count unit = 1) {
  std::vector<Count> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(static_cast<Count>(i) * unit);
  return sizes;
}

inline AllocationProblem one_tier(Count capacity, std::vector<std::vector<double>> curves) {
  AllocationProblem problem;
  problem.sizes = units(curves[0].size());
  problem.capacities = {capacity};
  for (auto& curve : curves) problem.value.push_back({std::move(curve)});
  return problem;
}

enum class Shape {
  kConcave,  // gains fall from size to size
  kCliffs,   // long flats and sudden rises
  kWild,     // any values, falling ones too
};

inline std::vector<double> random_curve(Shape shape, std::size_t sizes, Random& random) {
  std::vector<double> gains;
  for (std::size_t i = 1; i < sizes; ++i) {
    const double gain = random.uniform();
    switch (shape) {
      case Shape::kConcave:
        gains.push_back(gain);
        break;
      case Shape::kCliffs:
        gains.push_back(gain < 0.7 ? 0.0 : gain);
        break;
      case Shape::kWild:
        gains.push_back(gain - 0.3);
        break;
    }
  }
  if (shape == Shape::kConcave) std::ranges::sort(gains, std::greater<>());
  std::vector<double> curve{0.0};
  for (const double gain : gains) curve.push_back(curve.back() + gain);
  return curve;
}

// Sizes 0, 1, 2, … ; every tier's table is the VM's curve times a weight, as in
// the joint Multi-Cache problem.
inline AllocationProblem random_problem(Shape shape, std::size_t vms, std::size_t sizes,
                                        std::vector<Count> capacities, Random& random) {
  AllocationProblem problem;
  problem.sizes = units(sizes);
  problem.capacities = std::move(capacities);
  for (std::size_t v = 0; v < vms; ++v) {
    const std::vector<double> curve = random_curve(shape, sizes, random);
    auto& tables = problem.value.emplace_back();
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      const double weight = 0.2 + random.uniform();
      auto& table = tables.emplace_back(curve);
      for (double& value : table) value *= weight;
    }
  }
  return problem;
}

// Random reservations and limits that leave some feasible choice: every VM's
// interval holds the sizes it has in a random allocation.
inline void add_bounds(AllocationProblem& problem, Random& random) {
  std::vector<Count> left = problem.capacities;
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    auto& low = problem.lowest.emplace_back();
    auto& high = problem.highest.emplace_back();
    Count size = 0;
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      const Count last = static_cast<Count>(problem.sizes.size()) - 1;
      const Count most = std::min(left[k], last - size);
      const Count taken = static_cast<Count>(random.below(static_cast<std::uint64_t>(most) + 1));
      left[k] -= taken;
      size += taken;
      low.push_back(random.below(static_cast<std::uint64_t>(size) + 1));
      high.push_back(static_cast<std::size_t>(size) +
                     random.below(static_cast<std::uint64_t>(last - size) + 1));
    }
  }
}

}  // namespace mcsim::testing
