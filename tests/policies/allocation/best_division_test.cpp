// Trusts: every division there is, tried one by one.
#include "policies/allocation/best_division.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/base/random.hpp"
#include "optimizers/registry.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

std::unique_ptr<Optimizer> exact() { return optimizer_registry().make("exact", {}, {}).value(); }

// Distances below `most`, in clumps, so that the curve has cliffs.
RunningCurve random_curve(Random& random, Count most) {
  std::vector<DistanceCount> counts;
  Count accesses = 5;
  for (int i = 0; i < 4; ++i) {
    const auto distance =
        static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(most)));
    const auto count = static_cast<std::uint32_t>(1 + random.below(30));
    counts.push_back({distance, count});
    accesses += count;
  }
  RunningCurve curve;
  curve.add(counts);
  curve.set_accesses(accesses);
  return curve;
}

double worth(const std::vector<RunningCurve>& curves, const std::vector<double>& gains,
             const Allocation& targets) {
  double sum = 0;
  for (std::size_t v = 0; v < curves.size(); ++v) {
    Count blocks = 0;
    for (std::size_t k = 0; k < gains.size(); ++k) {
      blocks += targets.at(k, v);
      sum += gains[k] * static_cast<double>(curves[v].hits(blocks));
    }
  }
  return sum;
}

double best_by_trying(const std::vector<RunningCurve>& curves, const std::vector<double>& gains,
                      const std::vector<Count>& capacities) {
  Allocation targets(capacities.size(), curves.size());
  double best = 0;
  const std::function<void(std::size_t, std::size_t, Count)> visit =
      [&](std::size_t k, std::size_t v, Count left) {
        if (k == capacities.size()) {
          best = std::max(best, worth(curves, gains, targets));
        } else if (v + 1 == curves.size()) {
          targets.at(k, v) = left;
          visit(k + 1, 0, k + 1 < capacities.size() ? capacities[k + 1] : 0);
        } else {
          for (Count blocks = 0; blocks <= left; ++blocks) {
            targets.at(k, v) = blocks;
            visit(k, v + 1, left - blocks);
          }
        }
      };
  visit(0, 0, capacities[0]);
  return best;
}

class BestDivisionOf : public ::testing::TestWithParam<std::tuple<std::vector<Count>, HitWorth>> {};

TEST_P(BestDivisionOf, TinyTiersIsTheBestOfAllDivisions) {
  const auto& [capacities, objective] = GetParam();
  Random random(11);
  const auto optimizer = exact();
  Machine machine = testing::machine_of(capacities);
  machine.backend.read_ns = 1e9;
  const auto gains = gains_of(machine, objective).value();
  for (int round = 0; round < 60; ++round) {
    std::vector<RunningCurve> curves;
    for (std::size_t v = 0; v < 2 + random.below(2); ++v) {
      curves.push_back(random_curve(random, 12));
    }
    const double wanted = best_by_trying(curves, gains, capacities);
    const auto found = best_of(curves, capacities, gains, 1'000, *optimizer, true).value();
    EXPECT_TRUE(check_targets(found.targets, capacities, curves.size()).ok());
    EXPECT_DOUBLE_EQ(worth(curves, gains, found.targets), wanted) << "round " << round;
    EXPECT_NEAR(found.upper_bound, wanted, 1e-9 * wanted);

    // Sizes of several blocks: worse at most, and the bound holds for all sizes.
    const auto coarse = best_of(curves, capacities, gains, 4, *optimizer, true).value();
    EXPECT_TRUE(check_targets(coarse.targets, capacities, curves.size()).ok());
    EXPECT_LE(worth(curves, gains, coarse.targets), wanted);
    EXPECT_GE(coarse.upper_bound, wanted * (1 - 1e-12));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiers, BestDivisionOf,
    ::testing::Combine(::testing::Values(std::vector<Count>{9}, std::vector<Count>{3, 6},
                                         std::vector<Count>{5, 0}, std::vector<Count>{2, 2, 4}),
                       ::testing::Values(HitWorth::kHits, HitWorth::kLatency)));

TEST(BestDivision, OfAsManyHitsMoreAreInFasterTiers) {
  // Both need 10 blocks for all of their hits, the capacity; the second has most of
  // them in its first 4.
  RunningCurve late;
  late.add(std::vector<DistanceCount>{{9, 100}});
  RunningCurve early;
  early.add(std::vector<DistanceCount>{{3, 80}, {9, 20}});
  const std::vector<RunningCurve> curves{late, early};
  const std::vector<double> hits_alone{0, 1};
  const auto found = best_of(curves, std::vector<Count>{4, 16}, hits_alone, 100, *exact()).value();
  EXPECT_EQ(worth(curves, hits_alone, found.targets), 200);
  EXPECT_EQ(found.targets.at(0, 1), 4);
  EXPECT_EQ(found.targets.at(1, 1), 6);
  EXPECT_EQ(found.targets.at(1, 0), 10);
}

TEST(BestDivision, LatencyNeedsTiersInOrder) {
  Machine machine = testing::machine_of({4, 4});
  machine.tiers[0].device = {"tape", 5e9, 5e9, 1};
  EXPECT_EQ(message_of(gains_of(machine, HitWorth::kLatency).status()),
            "objective: latency needs tiers ordered from fast to slow: tape reads a block in "
            "5000000000 ns, the next device, tier, in 25000 ns");
  EXPECT_TRUE(gains_of(machine, HitWorth::kHits).ok());
}

}  // namespace
}  // namespace mcsim
