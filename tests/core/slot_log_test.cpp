// Trusts: a std::deque of slots with their marks, searched one by one.
#include "core/containers/slot_log.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

struct Element {
  Slot slot;
  std::array<bool, 2> marks;
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

void expect_equal(const SlotLog<2>& log, const Twin& twin) {
  ASSERT_TRUE(log.check().ok()) << log.check();
  ASSERT_EQ(log.size(), static_cast<Count>(twin.size()));
  if (twin.empty()) return;
  ASSERT_EQ(log[log.oldest()], twin.front().slot);
  for (const Element& element : twin) {
    const auto at = log.of(element.slot);
    ASSERT_EQ(log[at], element.slot);
    ASSERT_EQ(log[log.next(at)], next(twin, element.slot, [](const Element&) { return true; }));
    for (const std::size_t mark : {0, 1}) {
      ASSERT_EQ(log.marked(mark, at), element.marks[mark]);
      const auto marked = [mark](const Element& e) { return e.marks[mark]; };
      if (std::ranges::any_of(twin, marked)) {
        ASSERT_EQ(log[log.next(mark, at)], next(twin, element.slot, marked));
      }
    }
  }
}

// Comes in, leaves or gets or loses a mark, whatever the slot allows.
void step(SlotLog<2>& log, Twin& twin, Slot slot, std::size_t what) {
  const auto found = find(twin, slot);
  if (found == twin.end()) {
    if (log.full()) log.squeeze();
    log.push(slot);
    twin.push_back({.slot = slot, .marks = {}});
  } else if (what < 2) {
    if (found->marks[what]) {
      log.unmark(what, log.of(slot));
    } else {
      log.mark(what, log.of(slot));
    }
    found->marks[what] = !found->marks[what];
  } else {
    log.erase(log.of(slot));
    twin.erase(found);
  }
}

TEST(SlotLog, EqualsADequeStepByStep) {
  for (const std::size_t slots : {1, 2, 7, 100}) {
    SlotLog<2> log(slots);
    Twin twin;
    Random random(slots);
    for (int i = 0; i < 3000; ++i) {
      step(log, twin, static_cast<Slot>(random.below(slots)), random.below(5));
      ASSERT_NO_FATAL_FAILURE(expect_equal(log, twin)) << slots << " slots, step " << i;
    }
  }
}

TEST(SlotLog, KeepsWhatItHasWhenItGrows) {
  SlotLog<2> log(50);
  Twin twin;
  Random random(1);
  for (std::size_t slots = 50; slots < 400; slots += 50) {
    log.reserve(slots);
    for (int i = 0; i < 500; ++i) {
      step(log, twin, static_cast<Slot>(random.below(slots)), random.below(4));
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(log, twin)) << slots << " slots";
  }
}

TEST(SlotLog, FindsASlotThatIsElsewhere) {
  SlotLog<1> log(3);
  for (const Slot slot : {0U, 1U, 2U}) log.push(slot);
  log.push(1);  // twice
  EXPECT_EQ(log.check().message(), "log: slot 1 is elsewhere than at 1");
}

}  // namespace
}  // namespace mcsim
