// Trusts: counting along an array.
#include "core/containers/live_slots.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/isa/loops.hpp"

// The operations are compiled into the hot loops; here they are once more, alone.
#define MCSIM_ISA portable
#include "core/base/begin_isa.hpp"
namespace mcsim::live_slots_portable {
namespace {
#include "core/containers/live_slots.inl"
}
}  // namespace mcsim::live_slots_portable
#include "core/base/end_isa.hpp"

namespace mcsim {
namespace {

std::uint32_t rank_of(LiveSlots& slots, std::uint32_t code) {
  std::uint32_t count = 0;
  live_slots_portable::with_levels(slots, [&]<int kLevels>() {
    count = live_slots_portable::rank<kLevels>(slots.view(), code);
  });
  return count;
}

std::uint32_t take_from(LiveSlots& slots, std::uint32_t code) {
  std::uint32_t count = 0;
  live_slots_portable::with_levels(slots, [&]<int kLevels>() {
    live_slots_portable::take_slots<kLevels>(slots.view(), &code, 1, &count, [](std::size_t) {});
  });
  return count;
}

TEST(LiveSlots, RanksAreThoseOfTheArray) {
  Random random(2);
  for (const std::size_t size : {1U, 447U, 448U, 449U, 14'336U, 14'337U, 40'000U}) {
    SCOPED_TRACE(size);
    LiveSlots slots(size);
    ASSERT_GE(slots.size(), size);
    std::vector<bool> array(slots.size(), true);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < size / 25 + 1; ++i) {
        const auto slot = static_cast<std::uint32_t>(random.below(array.size()));
        if (!array[slot]) continue;
        const std::uint32_t before = rank_of(slots, LiveSlots::code_of(slot));
        ASSERT_EQ(take_from(slots, LiveSlots::code_of(slot)), before);
        array[slot] = false;
      }
      std::uint32_t count = 0;
      for (std::uint32_t slot = 0; slot < array.size(); ++slot) {
        count += array[slot] ? 1 : 0;
        ASSERT_EQ(rank_of(slots, LiveSlots::code_of(slot)), count) << slot;
      }
    }
    slots.fill();
    EXPECT_EQ(rank_of(slots, LiveSlots::code_of(static_cast<std::uint32_t>(size) - 1)), size);
  }
}

// Every level above the lines, on axes too long to look at every slot.
TEST(LiveSlots, CountsOnEveryLevel) {
  int levels = 0;
  for (const std::size_t size : {229'376U, 229'377U, 3'670'017U, 58'720'257U}) {
    LiveSlots slots(size);
    EXPECT_GE(slots.level_count(), levels);
    levels = slots.level_count();
    Random random(5);
    std::vector<std::uint32_t> taken;
    for (int i = 0; i < 300; ++i) {
      const auto slot = static_cast<std::uint32_t>(random.below(size));
      if (std::find(taken.begin(), taken.end(), slot) != taken.end()) continue;
      const auto dead =
          std::count_if(taken.begin(), taken.end(), [&](std::uint32_t t) { return t < slot; });
      ASSERT_EQ(take_from(slots, LiveSlots::code_of(slot)), slot + 1 - dead);
      taken.push_back(slot);
    }
  }
  EXPECT_EQ(levels, 4);
}

TEST(LiveSlots, EndsWhereCodesEnd) {
  EXPECT_EQ(LiveSlots(1).end_code(), 512U);
  EXPECT_EQ(LiveSlots(449).end_code(), 1024U);
  EXPECT_EQ(LiveSlots::code_of(447), 447U);
  EXPECT_EQ(LiveSlots::code_of(448), 512U);
}

// As threads take slots: each of groups of its own, with its own counts above them, whose
// differences add up.
TEST(LiveSlots, GroupsAreTakenApart) {
  for (const std::size_t size : {14'337U, 300'000U, 4'000'000U}) {
    SCOPED_TRACE(size);
    LiveSlots together(size);
    LiveSlots apart(size);
    const std::span<std::uint32_t> counts = apart.group_counts();
    const std::vector<std::uint32_t> before(counts.begin(), counts.end());
    std::vector<std::uint32_t> own[2] = {before, before};
    const std::size_t bound = (size / 3 / 14'336 + 1) * LiveSlots::kGroupCodes;
    Random random(7);
    std::uint32_t taken_below = 0;
    std::vector<bool> taken(size);
    for (int i = 0; i < 2000; ++i) {
      const auto slot = static_cast<std::uint32_t>(random.below(size));
      if (taken[slot]) continue;
      taken[slot] = true;
      const std::uint32_t code = LiveSlots::code_of(slot);
      const std::size_t side = code < bound ? 0 : 1;
      std::uint32_t rank = 0;
      live_slots_portable::with_levels(apart, [&]<int kLevels>() {
        live_slots_portable::take_slots<kLevels>(apart.view_with(own[side].data()), &code, 1, &rank,
                                                 [](std::size_t) {});
      });
      ASSERT_EQ(take_from(together, code), side == 0 ? rank : rank - taken_below);
      taken_below += side == 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = own[0][i] + own[1][i] - before[i];
    for (std::uint32_t slot = 0; slot < size; slot += 997) {
      const std::uint32_t code = LiveSlots::code_of(slot);
      ASSERT_EQ(rank_of(apart, code), rank_of(together, code)) << slot;
    }
  }
}

}  // namespace
}  // namespace mcsim
