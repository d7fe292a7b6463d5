#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "tests/support/naive_policies.hpp"

// Twins of the policies that compare inter-reference recencies.
namespace mcsim::naive {

class Lirs : public Policy {
 public:
  Lirs(Count capacity, double hirs, double stack) : Policy(capacity), hirs_(hirs), stack_(stack) {}
  bool contains(std::uint64_t block) const override { return lir(block) || has(q_, block); }
  void remove(std::uint64_t block) override {
    s_.remove(block);
    q_.remove(block);
    is_lir_.erase(block);
    prune();
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    const bool hit = contains(x);
    if (hit && last_ == x) return true;
    last_ = x;
    if (!hit && size(q_) + lirs() == capacity_) evict();
    const bool was_in_s = has(s_, x);
    s_.remove(x);
    q_.remove(x);
    s_.push_front(x);
    const bool fills = !hit && !was_in_s && lirs() < most_lirs();
    if (!lir(x)) {
      if (fills || was_in_s) {
        is_lir_.insert(x);
        if (lirs() > most_lirs()) demote_bottom();
      } else {
        q_.push_front(x);
      }
    }
    prune();
    shorten();
    return hit;
  }

  void on_resize() override {
    while (lirs() > most_lirs()) demote_bottom();
    while (size(q_) + lirs() > capacity_) evict();
    shorten();
  }

 private:
  bool lir(std::uint64_t block) const { return is_lir_.contains(block); }
  Count lirs() const { return static_cast<Count>(is_lir_.size()); }
  Count most_lirs() const {
    const Count share = part_of(hirs_, capacity_);
    Count hirs = std::max<Count>(share, 2);
    if (hirs >= capacity_) hirs = std::max<Count>(capacity_ - 1, 1);
    return std::max<Count>(capacity_ - hirs, 0);
  }

  void evict() {
    victims.push_back(q_.back());
    q_.pop_back();
  }
  // The LIR block lowest in S goes to the end of Q.
  void demote_bottom() {
    prune();
    const std::uint64_t bottom = s_.back();
    s_.pop_back();
    is_lir_.erase(bottom);
    q_.push_front(bottom);
    prune();
  }
  void prune() {
    while (!s_.empty() && !lir(s_.back())) s_.pop_back();
  }
  // The HIR blocks nearest to the bottom leave S.
  void shorten() {
    const Count most = part_of(stack_, capacity_);
    while (size(s_) > most) {
      auto at = std::prev(s_.end());
      while (lir(*at)) --at;
      s_.erase(at);
    }
  }

  double hirs_, stack_;
  List s_;  // top first
  List q_;  // end first: victims are taken from the front, which is the back of this
  std::set<std::uint64_t> is_lir_;
  std::optional<std::uint64_t> last_;
};

// The stack S as the times of accesses, the last two of each block. A new block has the time just
// before its access as the second last one.
class Lirs2 : public Policy {
 public:
  Lirs2(Count capacity, double hirs, double stack) : Policy(capacity), hirs_(hirs), stack_(stack) {}
  bool contains(std::uint64_t block) const override { return lir(block) || has(q_, block); }
  void remove(std::uint64_t block) override {
    q_.remove(block);
    is_lir_.erase(block);
    s_.erase(times_[block].last);
    s_.erase(times_[block].second);
    prune();
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    const bool hit = contains(x);
    if (hit && last_ == x) return true;
    last_ = x;
    if (!hit && size(q_) + lirs() == capacity_) evict();
    now_ += 2;
    Times& times = times_[x];
    const bool is_near = s_.contains(times.second) && !times.is_only_one;
    const bool is_new = !hit && !s_.contains(times.last) && !s_.contains(times.second);
    s_.erase(times.second);
    times = {now_, is_new ? now_ - 1 : times.last, is_new};
    s_[now_] = x;
    if (is_new) s_[now_ - 1] = x;
    q_.remove(x);
    if (!lir(x)) {
      if (is_near || (!hit && lirs() < most_lirs())) {
        is_lir_.insert(x);
        if (lirs() > most_lirs()) demote();
      } else {
        q_.push_front(x);
      }
    }
    prune();
    shorten();
    return hit;
  }

  void on_resize() override {
    while (lirs() > most_lirs()) demote();
    while (size(q_) + lirs() > capacity_) evict();
    prune();
    shorten();
  }

 private:
  struct Times {
    std::uint64_t last = 0, second = 0;
    bool is_only_one = false;  // the second one is no access
  };

  bool lir(std::uint64_t block) const { return is_lir_.contains(block); }
  Count lirs() const { return static_cast<Count>(is_lir_.size()); }
  Count most_lirs() const {
    const Count hirs = std::max<Count>(part_of(hirs_, capacity_), 4);
    return std::max<Count>(capacity_ - std::min(hirs, std::max<Count>(capacity_ - 1, 1)), 0);
  }

  void evict() {
    victims.push_back(q_.back());
    q_.pop_back();
  }
  // The LIR block whose second last access is the oldest goes to the end of Q.
  void demote() {
    prune();
    const std::uint64_t block = s_.begin()->second;
    is_lir_.erase(block);
    q_.push_front(block);
    if (times_[block].last < shortened_) s_.erase(times_[block].last);
    prune();
  }
  void prune() {
    while (!s_.empty()) {
      const auto [time, block] = *s_.begin();
      if (lir(block) && times_[block].second == time) return;
      s_.erase(time);
    }
  }
  // The oldest accesses to HIR blocks leave S.
  void shorten() {
    const auto most = static_cast<std::size_t>(part_of(stack_, capacity_));
    for (auto at = s_.begin(); s_.size() > most;) {
      if (lir(at->second)) {
        ++at;
        continue;
      }
      shortened_ = at->first;
      at = s_.erase(at);
    }
  }

  double hirs_, stack_;
  std::map<std::uint64_t, std::uint64_t> s_;  // the block of each access, by time
  std::map<std::uint64_t, Times> times_;      // also of accesses that left S
  List q_;  // end first: victims are taken from the front, which is the back of this
  std::set<std::uint64_t> is_lir_;
  std::optional<std::uint64_t> last_;
  std::uint64_t now_ = 0;
  std::uint64_t shortened_ = 0;  // the newest access that left S because of its limit
};

// The clock is a list that begins at HAND_hot; what it passes goes to the end, the
// head of the clock.
class ClockPro : public Policy {
 public:
  ClockPro(Count capacity, double min_cold, double max_cold)
      : Policy(capacity), least_(min_cold), most_(max_cold) {
    bound_target();
  }
  bool contains(std::uint64_t block) const override {
    const auto at = pages_.find(block);
    return at != pages_.end() && at->second.resident;
  }
  void remove(std::uint64_t block) override { take_out(block); }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    if (contains(x)) {
      pages_[x].bit = true;
      return true;
    }
    if (residents() == capacity_) run_cold();
    if (pages_.contains(x)) {
      take_out(x);
      target_ = std::min(target_ + 1, largest());
      put_in(x, {.hot = true, .resident = true});
      while (hots() > capacity_ - target_) run_hot();
    } else if (hots() < capacity_ - target_) {
      put_in(x, {.hot = true, .resident = true});
    } else {
      put_in(x, {.resident = true, .test = true});
    }
    return false;
  }

  void on_resize() override {
    bound_target();
    while (hots() > capacity_ - target_) run_hot();
    while (residents() > capacity_) run_cold();
    end_tests();
  }

 private:
  struct Page {
    bool hot = false;
    bool resident = false;
    bool test = false;
    bool bit = false;
  };
  using Hand = std::optional<std::uint64_t>;

  template <class Predicate>
  Count count(Predicate&& predicate) const {
    return std::count_if(pages_.begin(), pages_.end(),
                         [&](const auto& each) { return predicate(each.second); });
  }
  Count hots() const {
    return count([](const Page& page) { return page.hot; });
  }
  Count residents() const {
    return count([](const Page& page) { return page.resident; });
  }
  Count ghosts() const {
    return count([](const Page& page) { return !page.resident; });
  }
  Count smallest() const { return bounded(least_); }
  Count largest() const { return std::max(bounded(least_), bounded(most_)); }
  Count bounded(double share) const {
    if (capacity_ == 0) return 0;
    return std::max<Count>(1, part_of(share, capacity_));
  }
  void bound_target() { target_ = std::min(std::max(target_, smallest()), largest()); }

  static bool is_cold(const Page& page) { return page.resident && !page.hot; }

  // The next page after this one, in the direction of the hands, that is `wanted`.
  template <class Predicate>
  Hand next(std::uint64_t block, Predicate&& wanted) const {
    auto at = std::find(clock_.begin(), clock_.end(), block);
    for (std::size_t i = 1; i < clock_.size(); ++i) {
      if (++at == clock_.end()) at = clock_.begin();
      if (wanted(pages_.at(*at))) return *at;
    }
    return std::nullopt;
  }
  static bool any(const Page&) { return true; }

  void put_in(std::uint64_t block, const Page& page) {
    clock_.push_back(block);
    pages_[block] = page;
    if (!hand_test_) hand_test_ = block;
    if (is_cold(page) && !hand_cold_) hand_cold_ = block;
  }
  void take_out(std::uint64_t block) {
    if (hand_test_ == block) hand_test_ = next(block, any);
    if (hand_cold_ == block) hand_cold_ = next(block, is_cold);
    clock_.remove(block);
    pages_.erase(block);
  }

  void run_cold() {
    while (true) {
      const std::uint64_t block = *hand_cold_;
      const Page page = pages_[block];
      if (!page.bit) {
        victims.push_back(block);
        if (page.test) {
          hand_cold_ = next(block, is_cold);
          pages_[block].resident = false;
        } else {
          take_out(block);
        }
        end_tests();
        return;
      }
      take_out(block);
      put_in(block, {.hot = page.test, .resident = true, .test = !page.test});
      while (hots() > capacity_ - target_) run_hot();
    }
  }

  void run_hot() {
    bool demoted = false;
    while (!demoted || (hots() > 0 && !pages_[clock_.front()].hot)) {
      const std::uint64_t block = clock_.front();
      Page& page = pages_[block];
      if (!page.resident) {
        lose_ghost(block);
        continue;
      }
      if (page.hot && !page.bit) {
        page.hot = false;
        demoted = true;
        if (!hand_cold_) hand_cold_ = block;
      }
      page.test = false;
      page.bit = false;
      if (hand_test_ == block) hand_test_ = next(block, any).value_or(block);
      clock_.splice(clock_.end(), clock_, clock_.begin());
    }
  }

  // HAND_test keeps the ghosts from being more than the capacity.
  void end_tests() {
    while (ghosts() > capacity_) {
      const std::uint64_t block = *hand_test_;
      Page& page = pages_[block];
      if (!page.resident) {
        lose_ghost(block);
        continue;
      }
      if (!page.hot) page.test = page.bit = false;
      hand_test_ = next(block, any);
    }
  }
  void lose_ghost(std::uint64_t block) {
    take_out(block);
    target_ = std::max(target_ - 1, smallest());
  }

  double least_, most_;
  List clock_;
  std::map<std::uint64_t, Page> pages_;
  Hand hand_cold_, hand_test_;
  Count target_ = 0;
};

}  // namespace mcsim::naive
