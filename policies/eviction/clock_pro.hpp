#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_ring.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// CLOCK-Pro: LIRS by a clock. Hot pages, cold ones and the ghosts of cold ones lie on
// it in the order in which they were last at its head, which is behind HAND_hot. A
// cold page is in its test period from when it comes to the head; if it is accessed
// during it, also as a ghost, it becomes hot. HAND_cold finds the victims, HAND_hot
// the hot pages to turn cold, and HAND_test ends test periods.
//
// The cold pages' share adapts by what becomes of the ghosts: one more page for each
// that is accessed again, one less for each whose test period ends. The share starts
// at its minimum; min_cold = max_cold fixes it. As in the authors' simulator, blocks
// come in hot while hot pages lack, there are no more ghosts than the capacity, and
// the end of a test period takes the mark of a page. As in the paper and not there, a
// cold page that is accessed after its test period stays and is tested anew.
//
// A second ring has the resident cold pages alone, lest HAND_cold pass all the others.
//
// O(1) an access, amortised; 18 bytes a slot, two slots a block of the capacity.
class ClockPro {
 public:
  struct Params {
    double min_cold = 0.01;
    double max_cold = 0.99;
    static constexpr auto fields() {
      return std::tuple{
          Field{"min_cold", &Params::min_cold, "least share of the cache for cold pages", 0, 1},
          Field{"max_cold", &Params::max_cold, "largest share of the cache for cold pages", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "clock-pro",
      .summary = "A clock that keeps pages of small reuse distance hot, as LIRS does.",
      .reference =
          "Jiang, Chen, Zhang: CLOCK-Pro: An effective improvement of the CLOCK replacement, "
          "USENIX ATC 2005"};

  ClockPro(const Params& params, const PolicySetup& setup)
      : params_(params),
        clock_(setup.slots_for(2 * setup.capacity)),
        cold_(clock_.slots()),
        page_(clock_.slots()) {
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
      slot = cache.find(a.block);  // its test period may just have ended
    }
    if (slot != kNoSlot) {
      cold_target_ = std::min(cold_target_ + 1, max_cold_);
      --ghosts_;
      leave_clock(slot);
      enter_hot(slot);
      limit_hot(cache);
    } else {
      slot = cache.insert(a.block);
      if (hot_ < capacity_ - cold_target_) {
        enter_hot(slot);
      } else {
        enter_cold(slot);
      }
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    if (page_[slot].kind == Kind::kHot) {
      --hot_;
    } else {
      leave_cold(slot);
    }
    leave_clock(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    limit_hot(cache);
    while (size() > capacity_) run_hand_cold(cache);
    limit_ghosts(cache);
    const std::size_t slots = cache.slots_for(2 * capacity_);
    clock_.reserve(slots);
    cold_.reserve(slots);
    if (slots > page_.size()) page_.extend(slots);
  }

  bool resident(Slot slot) const { return page_[slot].kind != Kind::kGhost; }
  Count size() const { return hot_ + cold_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return clock_.slots(); }
  // Hits, and those are more, need no more than the page.
  void prefetch(Slot slot) const { __builtin_prefetch(&page_[slot], 1); }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(clock_.check());
    MCSIM_RETURN_IF_ERROR(cold_.check());
    if (clock_.size() != size() + ghosts_ || ghosts_ > capacity_ ||
        hot_ > capacity_ - cold_target_) {
      return internal_error("clock-pro: {} pages are {} hot and {} cold ones and {} ghosts of {}",
                            clock_.size(), hot_, cold_.size(), ghosts_, capacity_);
    }
    return absl::OkStatus();
  }
  std::size_t bytes() const { return clock_.bytes() + cold_.bytes() + page_.size() * sizeof(Page); }

 private:
  // Tested: a cold page in its test period.
  enum class Kind : std::uint8_t { kHot, kCold, kTested, kGhost };
  struct Page {
    Kind kind;
    bool referenced;
  };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    const auto pages = [&](double share) {
      const auto wanted = static_cast<Count>(share * static_cast<double>(capacity));
      return std::clamp<Count>(wanted, std::min<Count>(1, capacity), capacity);
    };
    min_cold_ = pages(params_.min_cold);
    max_cold_ = std::max(min_cold_, pages(params_.max_cold));
    cold_target_ = std::clamp(cold_target_, min_cold_, max_cold_);
  }

  // Evicts a cold page. What was accessed goes to the head: pages in their test
  // periods become hot, others are tested.
  void run_hand_cold(auto& cache) {
    while (true) {
      const Slot slot = hand_cold_;
      const Page page = page_[slot];
      if (!page.referenced) {
        leave_cold(slot);
        if (page.kind == Kind::kTested) {
          page_[slot].kind = Kind::kGhost;
          ++ghosts_;
          cache.evict_to_ghost(slot);
        } else {
          leave_clock(slot);
          cache.evict(slot);
        }
        limit_ghosts(cache);
        prefetch_next();
        return;
      }
      leave_cold(slot);
      leave_clock(slot);
      if (page.kind == Kind::kTested) {
        enter_hot(slot);
        limit_hot(cache);
      } else {
        enter_cold(slot);
      }
    }
  }

  // Towards the victims and the ghosts to come; the links that just changed have
  // fetched the first ones.
  void prefetch_next() const {
    if (!cold_.empty()) {
      const Slot soon = cold_.newer(hand_cold_);
      __builtin_prefetch(&page_[soon], 1);
      cold_.prefetch(soon);
      clock_.prefetch(soon);
    }
    if (!clock_.empty()) {
      const Slot soon = clock_.newer(hand_test_);
      __builtin_prefetch(&page_[soon], 1);
      clock_.prefetch(soon);
    }
  }

  void limit_hot(auto& cache) {
    while (hot_ > capacity_ - cold_target_) run_hand_hot(cache);
  }
  // Turns a hot page cold, and goes on to the next hot one. All pages that the hand
  // passes are at the head then; test periods end.
  void run_hand_hot(auto& cache) {
    bool done = false;
    while (!done || (hot_ > 0 && page_[clock_.hand()].kind != Kind::kHot)) {
      const Slot slot = clock_.hand();
      Page& page = page_[slot];
      if (page.kind != Kind::kHot) {
        end_test(slot, cache);
        continue;
      }
      if (!page.referenced) {
        page = {.kind = Kind::kCold, .referenced = false};
        --hot_;
        add_cold(slot);
        done = true;
      }
      page.referenced = false;
      pass_hand_hot();
    }
  }
  void pass_hand_hot() {
    if (hand_test_ == clock_.hand()) hand_test_ = clock_.newer(hand_test_);
    clock_.advance();
  }
  // Of the cold page at HAND_hot.
  void end_test(Slot slot, auto& cache) {
    if (page_[slot].kind == Kind::kGhost) {
      drop_ghost(slot, cache);
    } else {
      page_[slot] = {.kind = Kind::kCold, .referenced = false};
      cold_.advance();
      pass_hand_hot();
    }
  }
  void drop_ghost(Slot slot, auto& cache) {
    cold_target_ = std::max(cold_target_ - 1, min_cold_);
    --ghosts_;
    leave_clock(slot);
    cache.forget(slot);
  }

  // HAND_test: ends the test periods up to that of the next ghost.
  void limit_ghosts(auto& cache) {
    while (ghosts_ > capacity_) {
      Page& page = page_[hand_test_];
      if (page.kind == Kind::kGhost) {
        drop_ghost(hand_test_, cache);
        continue;
      }
      if (page.kind != Kind::kHot) {
        page = {.kind = Kind::kCold, .referenced = false};
      }
      hand_test_ = clock_.newer(hand_test_);
    }
  }

  void enter_hot(Slot slot) {
    page_[slot] = {.kind = Kind::kHot, .referenced = false};
    ++hot_;
    enter_clock(slot);
  }
  void enter_cold(Slot slot) {
    page_[slot] = {.kind = Kind::kTested, .referenced = false};
    enter_clock(slot);
    add_cold(slot);
  }
  void enter_clock(Slot slot) {
    clock_.insert(slot);
    if (clock_.size() == 1) hand_test_ = slot;
  }
  void leave_clock(Slot slot) {
    if (slot == hand_test_) hand_test_ = clock_.newer(slot);
    clock_.erase(slot);
  }
  void add_cold(Slot slot) {
    cold_.insert(slot);
    if (cold_.size() == 1) hand_cold_ = slot;
  }
  void leave_cold(Slot slot) {
    if (slot == hand_cold_) hand_cold_ = cold_.newer(slot);
    cold_.erase(slot);
  }

  Params params_;
  SlotRing clock_;  // its hand is HAND_hot
  SlotRing cold_;   // its hand is at the first cold page from HAND_hot on
  Pages<Page> page_;
  Slot hand_cold_ = kNoSlot;
  Slot hand_test_ = kNoSlot;
  Count capacity_ = 0;
  Count hot_ = 0;
  Count ghosts_ = 0;
  Count cold_target_ = 0;  // m_c
  Count min_cold_ = 0;
  Count max_cold_ = 0;
};

}  // namespace mcsim
