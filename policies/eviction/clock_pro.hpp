#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/share.hpp"
#include "core/containers/slot_log.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// CLOCK-Pro: LIRS on a clock. Hot pages, cold pages and the ghosts of cold pages are on the clock
// in the order in which they were last at its head, which is behind HAND_hot. The test period of a
// cold page starts when it enters at the head. If the page is accessed during the period, also as a
// ghost, it becomes hot. HAND_cold finds the victims, HAND_hot turns hot pages cold, and HAND_test
// ends test periods.
//
// The target share of cold pages adapts to the ghosts: one page more for each accessed ghost, one
// less for each test period that ends. It starts at its minimum; min_cold = max_cold fixes it. As
// in the authors' simulator, new blocks are hot while there are too few hot pages, there are at
// most as many ghosts as the capacity, and the end of a test period clears the mark of a page. As
// in the paper but not in the simulator, a cold page that is accessed after its test period stays
// and starts a new one.
//
// Hands search for the next page of a relevant kind, so that they do not visit the others.
//
// O(1) per access, amortised; 15 bytes per slot, two slots per block of the capacity.
class ClockPro {
 public:
  struct Params {
    double min_cold = 0.01;
    double max_cold = 0.99;
    static constexpr auto fields() {
      return std::tuple{
          Field{"min_cold", &Params::min_cold,
                "minimum share of the cache for cold pages, and its initial value", 0, 1},
          Field{"max_cold", &Params::max_cold, "maximum share of the cache for cold pages", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "clock-pro",
      .summary = "Keeps pages with small reuse distances hot, as LIRS does, on a clock.",
      .reference =
          "Jiang, Chen, Zhang: CLOCK-Pro: An effective improvement of the CLOCK replacement, "
          "USENIX ATC 2005"};

  ClockPro(const Params& params, const PolicySetup& setup)
      : params_(params), clock_(setup.slots_for(2 * setup.capacity)), page_(clock_.slots()) {
    set_capacity(setup.capacity);
    cold_target_ = min_cold_;
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      page_[slot].referenced = true;
      return true;
    }
    if (size() == capacity_) {
      run_hand_cold(cache);
      if (slot != kNoSlot) slot = cache.find(a.block);  // its test period may have just ended
    }
    if (slot != kNoSlot) {
      cold_target_ = std::min(cold_target_ + 1, max_cold_);
      --ghosts_;
      leave(clock_.of(slot), kGhost);
      enter_hot(slot);
      limit_hot(cache);
    } else {
      slot = cache.insert(a.block);
      if (hot_ < capacity_ - cold_target_) {
        enter_hot(slot);
      } else {
        enter_cold(slot, kTested);
      }
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    const Kind kind = page_[slot].kind;
    (kind == kHot ? hot_ : cold_) -= 1;
    leave(clock_.of(slot), kind);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    limit_hot(cache);
    while (size() > capacity_) run_hand_cold(cache);
    limit_ghosts(cache);
    clock_.reserve(cache.slots_for(2 * capacity_));
    if (clock_.slots() > page_.size()) page_.extend(clock_.slots());
  }

  bool resident(Slot slot) const { return page_[slot].kind != kGhost; }
  Count size() const { return hot_ + cold_; }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return clock_.slots(); }
  // Hits, the more frequent case, change only the page, which fits into the processor's caches.
  void prefetch(Slot) const {}
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(clock_.check());
    if (clock_.size() != size() + ghosts_ || ghosts_ > capacity_ ||
        hot_ > capacity_ - cold_target_) {
      return internal_error("clock-pro: {} pages are {} hot and {} cold ones and {} ghosts of {}",
                            clock_.size(), hot_, cold_, ghosts_, capacity_);
    }
    Position at = clock_.oldest();
    for (Count i = 0; i < clock_.size(); ++i, at = clock_.next(at)) {
      if (!clock_.is(page_[clock_[at]].kind, at)) {
        return internal_error("clock-pro: page {} of the clock is of another kind there", i);
      }
    }
    return absl::OkStatus();
  }
  std::size_t bytes() const { return clock_.bytes() + page_.size() * sizeof(Page); }
  auto state() {
    return std::tie(clock_, page_, hand_cold_, hand_test_, hot_, cold_, ghosts_, cold_target_);
  }

 private:
  // kTested: a cold page in its test period.
  enum Kind : std::uint8_t { kHot, kCold, kTested, kGhost, kKinds };
  struct Page {
    Kind kind;
    bool referenced;
  };
  using Clock = SlotLog<kKinds>;
  using Position = Clock::Position;

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    const auto pages = [&](double share) {
      return std::clamp<Count>(floor_share(share, capacity), std::min<Count>(1, capacity),
                               capacity);
    };
    min_cold_ = pages(params_.min_cold);
    max_cold_ = std::max(min_cold_, pages(params_.max_cold));
    cold_target_ = std::clamp(cold_target_, min_cold_, max_cold_);
  }

  // Evict a cold page. Accessed pages move to the head: pages in their test periods become hot,
  // other cold pages start a test period.
  void run_hand_cold(auto& cache) {
    while (true) {
      const Position at = hand_cold_;
      const Slot slot = clock_[at];
      cache.prefetch(clock_.ahead(at));
      const Page page = page_[slot];
      --cold_;
      if (!page.referenced) {
        if (page.kind == kTested) {
          clock_.turn(at, kTested, kGhost);
          if (cold_ > 0) hand_cold_ = next_cold(at);
          page_[slot].kind = kGhost;
          ++ghosts_;
          cache.evict_to_ghost(slot);
        } else {
          leave(at, kCold);
          cache.evict(slot);
        }
        limit_ghosts(cache);
        return;
      }
      leave(at, page.kind);
      if (page.kind == kTested) {
        enter_hot(slot);
        limit_hot(cache);
      } else {
        enter_cold(slot, kTested);
      }
    }
  }

  void limit_hot(auto& cache) {
    while (hot_ > capacity_ - cold_target_) run_hand_hot(cache);
  }
  // Turn a hot page cold and move to the next hot one. All pages that the hand passes move to the
  // head, and their test periods end.
  void run_hand_hot(auto& cache) {
    bool done = false;
    while (!done || (hot_ > 0 && !clock_.is(kHot, clock_.oldest()))) {
      const Position at = clock_.oldest();
      const Slot slot = clock_[at];
      prefetch_ahead(at, cache);
      const Page page = page_[slot];
      if (page.kind == kGhost) {
        drop_ghost(at, cache);
      } else if (page.kind != kHot) {
        const bool under_hand = at == hand_cold_;
        --cold_;
        leave(at, page.kind);
        enter_cold(slot, kCold);
        if (under_hand) hand_cold_ = clock_.of(slot);
      } else {
        --hot_;
        leave(at, kHot);
        if (page.referenced) {
          enter_hot(slot);
        } else {
          enter_cold(slot, kCold);
          done = true;
        }
      }
    }
  }
  void drop_ghost(Position at, auto& cache) {
    const Slot slot = clock_[at];
    cold_target_ = std::max(cold_target_ - 1, min_cold_);
    --ghosts_;
    leave(at, kGhost);
    cache.forget(slot);
  }

  // HAND_test: end the test periods up to that of the next ghost.
  void limit_ghosts(auto& cache) {
    while (ghosts_ > capacity_) {
      if (clock_.is(kHot, hand_test_)) {
        hand_test_ = clock_.next_of<kCold, kTested, kGhost>(hand_test_);
      }
      const Slot slot = clock_[hand_test_];
      prefetch_ahead(hand_test_, cache);
      Page& page = page_[slot];
      if (page.kind == kGhost) {
        drop_ghost(hand_test_, cache);
      } else {
        clock_.turn(hand_test_, page.kind, kCold);
        page = {.kind = kCold, .referenced = false};
        hand_test_ = clock_.next(hand_test_);
      }
    }
  }

  // Prefetch for a hand that visits pages accessed long ago.
  void prefetch_ahead(Position hand, auto& cache) const {
    const Slot soon = clock_.ahead(hand);
    prefetch_line(&page_[soon]);
    cache.prefetch(soon);
  }

  void enter_hot(Slot slot) {
    ++hot_;
    enter(slot, kHot);
  }
  void enter_cold(Slot slot, Kind kind) {
    const Position at = enter(slot, kind);
    if (cold_++ == 0) hand_cold_ = at;
  }
  Position enter(Slot slot, Kind kind) {
    page_[slot] = {.kind = kind, .referenced = false};
    if (clock_.full()) compact();
    return clock_.push(slot, kind);
  }
  // Remove a page; hands at it move to the next page.
  void leave(Position at, Kind kind) {
    clock_.erase(at, kind);
    if (at == hand_cold_ && cold_ > 0) hand_cold_ = next_cold(at);
    if (at == hand_test_) hand_test_ = clock_.next(at);
  }
  Position next_cold(Position at) const { return clock_.next_of<kCold, kTested>(at); }
  [[gnu::noinline]] void compact() {
    const Slot cold = clock_[hand_cold_];
    const Slot test = clock_[hand_test_];
    clock_.compact();
    hand_cold_ = clock_.of(cold);
    hand_test_ = clock_.empty() ? clock_.oldest() : clock_.of(test);
  }

  Params params_;
  Clock clock_;  // HAND_hot is at the oldest
  Pages<Page> page_;
  Position hand_cold_ = 0;
  Position hand_test_ = 0;
  Count capacity_ = 0;
  Count hot_ = 0;
  Count cold_ = 0;
  Count ghosts_ = 0;
  Count cold_target_ = 0;  // m_c
  Count min_cold_ = 0;
  Count max_cold_ = 0;
};

}  // namespace mcsim
