// Trusts: a look at all VMs for every size that is given away.
#include "optimizers/partial_allocation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using testing::random_problem;
using testing::Shape;

using Allowed = std::function<bool(double)>;

// The VM with the smallest part that can take a size; the number of VMs if none can.
std::size_t poorest_of(const PartialAllocation& draft, std::size_t tier, const Allowed& allowed) {
  const std::size_t vms = draft.problem().vms();
  std::size_t poorest = vms;
  for (std::size_t v = 0; v < vms; ++v) {
    const std::size_t next = draft.at(v, tier) + 1;
    if (next > draft.high(v, tier)) continue;
    if (draft.blocks_needed(v, tier, next) > draft.left(tier)) continue;
    if (!allowed(draft.gain(v, tier, next))) continue;
    if (poorest == vms || draft.part(v, tier) < draft.part(poorest, tier)) poorest = v;
  }
  return poorest;
}

void spread_naively(PartialAllocation& draft, const Allowed& allowed) {
  for (std::size_t k = 0; k < draft.problem().tiers(); ++k) {
    for (std::size_t v; (v = poorest_of(draft, k, allowed)) < draft.problem().vms();) {
      draft.raise_to(v, k, draft.at(v, k) + 1);
    }
  }
}

TEST(PartialAllocation, SpreadsWhatIsLeftToThePoorest) {
  Random random(1);
  const std::vector<Allowed> rules{[](double) { return true; },
                                   [](double gain) { return gain >= 0; },
                                   [](double gain) { return gain > 0; }};
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const auto vms = static_cast<std::size_t>(1 + random.below(12));
    const auto size = [&] { return static_cast<Count>(random.below(30)); };
    const std::vector<Count> capacities =
        round % 2 == 0 ? std::vector{size()} : std::vector{size(), size(), size()};
    AllocationProblem problem = random_problem(Shape::kWild, vms, 12, capacities, random);
    // Unequal distances between sizes: some VMs need more than the leftover.
    if (round % 3 == 0) {
      for (std::size_t i = 1; i < 12; ++i) {
        problem.sizes[i] = problem.sizes[i - 1] + 1 + static_cast<Count>(random.below(3));
      }
    } else {
      testing::add_bounds(problem, random);
    }
    const auto begun = PartialAllocation::at_reservations(problem);
    ASSERT_TRUE(begun.ok()) << begun.status();
    for (const Allowed& allowed : rules) {
      PartialAllocation naive = *begun;
      spread_naively(naive, allowed);
      PartialAllocation draft = *begun;
      draft.distribute_leftover(allowed);
      EXPECT_EQ(draft.choice(), naive.choice());
      EXPECT_EQ(begun->at(draft.choice()).left(0), draft.left(0));
    }
  }
}

}  // namespace
}  // namespace mcsim
