// Trusts: a std::deque of slots with their kinds, searched one by one.
#include "core/containers/slot_log.hpp"

#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

struct Element {
  Slot slot;
  std::size_t kind;
};
using Twin = std::deque<Element>;

Twin::iterator find(Twin& twin, Slot slot) { return std::ranges::find(twin, slot, &Element::slot); }

// The slot of the next element round the twin that `wanted` is true of.
template <class Wanted>
Slot next(const Twin& twin, Slot slot, Wanted wanted) {
  auto at = static_cast<std::size_t>(std::ranges::find(twin, slot, &Element::slot) - twin.begin());
  do at = (at + 1) % twin.size();
  while (!wanted(twin[at]));
  return twin[at].slot;
}

void expect_equal(const SlotLog<3>& log, const Twin& twin) {
  ASSERT_TRUE(log.check().ok()) << log.check();
  ASSERT_EQ(log.size(), static_cast<Count>(twin.size()));
  if (twin.empty()) return;
  ASSERT_EQ(log[log.oldest()], twin.front().slot);
  for (const Element& element : twin) {
    const auto at = log.of(element.slot);
    ASSERT_EQ(log[at], element.slot);
    ASSERT_EQ(log[log.next(at)], next(twin, element.slot, [](const Element&) { return true; }));
    for (const std::size_t kind : {0, 1, 2}) ASSERT_EQ(log.is(kind, at), element.kind == kind);
    const auto odd = [](const Element& e) { return e.kind == 1; };
    if (std::ranges::any_of(twin, odd)) {
      ASSERT_EQ(log[log.next_of<1>(at)], next(twin, element.slot, odd));
    }
    const auto even = [](const Element& e) { return e.kind != 1; };
    if (std::ranges::any_of(twin, even)) {
      ASSERT_EQ(log[(log.next_of<0, 2>(at))], next(twin, element.slot, even));
    }
  }
}

// Comes in, leaves or turns to another kind, whatever the slot allows.
void step(SlotLog<3>& log, Twin& twin, Slot slot, std::size_t what) {
  const auto found = find(twin, slot);
  if (found == twin.end()) {
    if (log.full()) log.compact();
    const bool first = twin.empty();
    const auto expected = log.oldest();
    const auto at = log.push(slot, what % 3);
    if (first) {
      EXPECT_EQ(at, expected);
    }
    twin.push_back({.slot = slot, .kind = what % 3});
  } else if (what < 3) {
    log.turn(log.of(slot), found->kind, what);
    found->kind = what;
  } else {
    log.erase(log.of(slot), found->kind);
    twin.erase(found);
  }
}

TEST(SlotLog, EqualsADequeStepByStep) {
  for (const std::size_t slots : {1, 2, 7, 100}) {
    SlotLog<3> log(slots);
    Twin twin;
    Random random(slots);
    for (int i = 0; i < 3000; ++i) {
      step(log, twin, static_cast<Slot>(random.below(slots)), random.below(5));
      ASSERT_NO_FATAL_FAILURE(expect_equal(log, twin)) << slots << " slots, step " << i;
    }
  }
}

TEST(SlotLog, KeepsWhatItHasWhenItGrows) {
  SlotLog<3> log(50);
  Twin twin;
  Random random(1);
  for (std::size_t slots = 50; slots < 400; slots += 50) {
    log.reserve(slots);
    for (int i = 0; i < 500; ++i) {
      step(log, twin, static_cast<Slot>(random.below(slots)), random.below(5));
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(log, twin)) << slots << " slots";
  }
}

TEST(SlotLog, FindsASlotThatIsElsewhere) {
  SlotLog<1> log(3);
  for (const Slot slot : {0U, 1U, 2U}) log.push(slot, 0);
  log.push(1, 0);  // twice
  EXPECT_EQ(log.check().message(), "log: slot 1 is elsewhere than at 1");
}

TEST(SlotLog, FindsASlotOfTwoKinds) {
  SlotLog<2> log(3);
  log.push(0, 0);
  log.turn(0, 1, 1);  // from a kind it is not of
  EXPECT_EQ(log.check().message(), "log: what is at 0 is of 2 kinds");
}

}  // namespace
}  // namespace mcsim
