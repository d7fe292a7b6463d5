#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/base/portable_math.hpp"
#include "core/base/two_experts.hpp"
#include "tests/support/naive_policies.hpp"

// Twins of the policies that learn from their ghosts.
namespace mcsim::naive {

// The pseudo-code of the paper's figure 2; heads of clocks are at the front.
class Car : public OfLists {
 public:
  explicit Car(Count capacity) : OfLists(capacity, {&t1_, &t2_}) {}
  void remove(std::uint64_t block) override {
    OfLists::remove(block);
    bits_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    if (contains(x)) {
      bits_.insert(x);
      return true;
    }
    if (held() == capacity_) replace();
    const auto b1 = static_cast<double>(size(b1_));
    const auto b2 = static_cast<double>(size(b2_));
    if (has(b1_, x)) {
      p_ = std::min(p_ + std::max(1.0, b2 / b1), static_cast<double>(capacity_));
      b1_.remove(x);
      t2_.push_back(x);
    } else if (has(b2_, x)) {
      p_ = std::max(p_ - std::max(1.0, b1 / b2), 0.0);
      b2_.remove(x);
      t2_.push_back(x);
    } else {
      if (size(t1_) + size(b1_) == capacity_) {
        b1_.pop_front();
      } else if (held() + size(b1_) + size(b2_) == 2 * capacity_) {
        b2_.pop_front();
      }
      t1_.push_back(x);
    }
    return false;
  }

  void on_resize() override {
    p_ = std::min(p_, static_cast<double>(capacity_));
    while (held() > capacity_) replace();
    while (size(t1_) + size(b1_) > capacity_) b1_.pop_front();
    while (held() + size(b1_) + size(b2_) > 2 * capacity_) b2_.pop_front();
  }

 private:
  void replace() {
    for (bool found = false; !found;) {
      const bool first = static_cast<double>(size(t1_)) >= std::max(1.0, p_);
      List& clock = first ? t1_ : t2_;
      const std::uint64_t head = clock.front();
      clock.pop_front();
      if (bits_.erase(head) == 0) {
        found = true;
        (first ? b1_ : b2_).push_back(head);
        victims.push_back(head);
      } else {
        t2_.push_back(head);
      }
    }
  }

  List t1_, t2_, b1_, b2_;
  std::set<std::uint64_t> bits_;
  double p_ = 0;
};

// Two experts; the weights are those of the policies, which have a test of their own.
class LeCar : public Policy {
 public:
  LeCar(Count capacity, double rate, double discount, double history, std::string_view ties)
      : Policy(capacity),
        by_number_(ties == "number"),
        rate_(rate),
        discount_(discount),
        history_(history),
        experts_(Random(1).split("lecar")) {}
  bool contains(std::uint64_t block) const override { return has(held_, block); }
  void remove(std::uint64_t block) override { held_.remove(block); }

 protected:
  bool on_access(std::uint64_t q, std::uint64_t) override {
    ++t_;
    const bool hit = contains(q);
    held_.remove(q);
    if (!hit) {
      const bool by_lru = has(h_lru_, q);
      if (by_lru || has(h_lfu_, q)) {
        const double age = static_cast<double>(t_ - info_[q].evicted);
        const double halvings = -portable_log2(discount_) * age / static_cast<double>(capacity_);
        experts_.penalize(by_lru ? TwoExperts::kFirst : TwoExperts::kSecond,
                          rate_ * (halvings < 900 ? portable_exp2(-halvings) : 0));
      } else {
        info_[q].frequency = 0;
      }
      h_lru_.remove(q);
      h_lfu_.remove(q);
      if (size(held_) == capacity_) evict();
    }
    held_.push_back(q);
    ++info_[q].frequency;
    return hit;
  }
  void on_resize() override {
    while (size(held_) > capacity_) evict();
    for (List* history : {&h_lru_, &h_lfu_}) {
      while (size(*history) > most()) history->pop_front();
    }
  }

 private:
  struct Info {
    std::uint64_t frequency = 0, evicted = 0;
  };
  Count most() const { return part_of(history_, capacity_); }
  void evict() {
    const std::uint64_t lru = held_.front();
    // The first of the least frequent from the least recent on, or by number.
    const std::uint64_t lfu =
        *std::min_element(held_.begin(), held_.end(), [&](std::uint64_t a, std::uint64_t b) {
          if (info_[a].frequency != info_[b].frequency) {
            return info_[a].frequency < info_[b].frequency;
          }
          return by_number_ && a < b;
        });
    const bool by_lru = experts_.choose() == TwoExperts::kFirst;
    const std::uint64_t victim = by_lru ? lru : lfu;
    held_.remove(victim);
    victims.push_back(victim);
    if (lru == lfu || most() == 0) return;
    info_[victim].evicted = t_;
    List& history = by_lru ? h_lru_ : h_lfu_;
    if (size(history) >= most()) history.pop_front();
    history.push_back(victim);
  }

  bool by_number_;
  double rate_, discount_, history_;
  TwoExperts experts_;
  List held_, h_lru_, h_lfu_;  // the oldest first
  std::map<std::uint64_t, Info> info_;
  std::uint64_t t_ = 0;
};

// After the paper's description of SR-LRU and CR-LFU and the structure of its authors'
// simulator; sizes that the policy counts are counted here by looking.
class Cacheus : public OfLists {
 public:
  Cacheus(Count capacity, bool authors)
      : OfLists(capacity, {&s_, &q_}), authors_(authors), experts_(Random(1).split("cacheus")) {
    begin();
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    ++t_;
    if (++period_ == capacity_) update_rate();
    Entry& entry = entries_[x];
    if (contains(x)) {
      ++hits_;
      ++entry.freq;
      entry.time = t_;
      if (!authors_) entry.is_new = false;
      const bool in_q = has(q_, x);
      if (in_q && entry.demoted) {
        grow_s();
        entry.demoted = false;
      }
      remove(x);
      if (in_q && size(s_) >= s_limit_) demote();
      s_.push_back(x);
      return true;
    }
    if (has(lru_hist_, x) || has(lfu_hist_, x)) {
      const bool by_lru = has(lru_hist_, x);
      lru_hist_.remove(x);
      lfu_hist_.remove(x);
      if (by_lru && entry.is_new) grow_q();
      experts_.penalize(by_lru ? TwoExperts::kFirst : TwoExperts::kSecond, rate_);
      if (held() == capacity_) evict();
      entry = {.freq = authors_ ? entry.freq : entry.freq + 1, .time = t_};
      s_.push_back(x);
      limit_stack();
      return false;
    }
    entry = {.freq = 1, .time = t_};
    if (size(s_) < s_limit_ && q_.empty()) {
      if (size(s_) == capacity_) evict();
      s_.push_back(x);
    } else if (held() < capacity_ && size(q_) < q_limit_) {
      q_.push_back(x);
    } else {
      if (held() == capacity_) evict();
      entry.is_new = true;
      q_.push_back(x);
      limit_stack();
    }
    return false;
  }
  void on_resize() override {
    begin();
    while (size(s_) > s_limit_) demote();
    while (held() > capacity_) evict();
    for (List* history : {&lru_hist_, &lfu_hist_}) {
      while (size(*history) > capacity_ / 2) history->pop_front();
    }
  }

 private:
  struct Entry {
    std::uint64_t freq = 0, time = 0;
    bool demoted = false, is_new = false;
  };

  void begin() {
    q_limit_ = std::max<Count>(1, static_cast<Count>(0.01 * static_cast<double>(capacity_) + 0.5));
    s_limit_ = std::max<Count>(0, capacity_ - q_limit_);
    q_limit_ = capacity_ - s_limit_;
    first_rate_ =
        std::sqrt(2 * 0x1.62e42fefa39efp-1 / static_cast<double>(std::max<Count>(1, capacity_)));
    rate_ = first_rate_;
    rate_before_ = hit_rate_before_ = 0;
    period_ = hits_ = 0;
    unlearnt_ = worse_ = 0;
  }

  Count demoted_blocks() {
    return std::count_if(q_.begin(), q_.end(), [&](auto block) { return entries_[block].demoted; });
  }
  Count new_ghosts() {
    return std::count_if(lru_hist_.begin(), lru_hist_.end(),
                         [&](auto block) { return entries_[block].is_new; });
  }
  static Count step(Count more, Count less) {
    const double ratio = static_cast<double>(more) / static_cast<double>(std::max<Count>(1, less));
    return std::max<Count>(1, static_cast<Count>(ratio + 0.5));
  }
  void grow_s() {
    s_limit_ = std::min(capacity_ - 1, s_limit_ + step(new_ghosts(), demoted_blocks()));
    q_limit_ = capacity_ - s_limit_;
  }
  void grow_q() {
    q_limit_ = std::min(capacity_ - 1, q_limit_ + step(demoted_blocks(), new_ghosts()));
    s_limit_ = capacity_ - q_limit_;
  }
  void limit_stack() {
    while (!s_.empty() && size(s_) >= s_limit_) demote();
  }
  void demote() {
    if (s_.empty()) return;
    entries_[s_.front()].demoted = true;
    q_.push_back(s_.front());
    s_.pop_front();
  }

  void evict() {
    const std::uint64_t lru = q_.empty() ? s_.front() : q_.front();
    List all = s_;
    all.insert(all.end(), q_.begin(), q_.end());
    const std::uint64_t lfu =
        *std::min_element(all.begin(), all.end(), [&](std::uint64_t a, std::uint64_t b) {
          const Entry& x = entries_[a];
          const Entry& y = entries_[b];
          return x.freq != y.freq ? x.freq < y.freq : x.time > y.time;
        });
    const bool by_lru = experts_.choose() == TwoExperts::kFirst;
    const std::uint64_t victim = by_lru ? lru : lfu;
    remove(victim);
    victims.push_back(victim);
    entries_[victim].demoted = false;
    if (lru == lfu || capacity_ / 2 == 0) return;
    List& history = by_lru ? lru_hist_ : lfu_hist_;
    if (size(history) >= capacity_ / 2) history.pop_front();
    history.push_back(victim);
  }

  // To three digits as they are printed, of which the C library knows the right ones.
  double seen(double rate) const {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.3f", rate);
    return authors_ ? std::strtod(digits, nullptr) : rate;
  }
  void set(double rate) { rate_ = std::min(1.0, std::max(0.001, rate)); }

  void update_rate() {
    const double hit_rate = seen(static_cast<double>(hits_) / static_cast<double>(capacity_));
    const double gain = seen(hit_rate - hit_rate_before_);
    const double move = seen(rate_) - seen(rate_before_);
    const double by = std::abs(rate_ * move);
    rate_before_ = rate_;
    hit_rate_before_ = hit_rate;
    period_ = hits_ = 0;
    if (authors_) {
      update_as_authors(hit_rate, gain, move, by);
    } else if (move != 0) {
      set(gain / move > 0 ? rate_ + by : rate_ - by);
      unlearnt_ = 0;
    } else if (hit_rate == 0 || gain <= 0) {
      if (++unlearnt_ == 10) {
        set(first_rate_);
        unlearnt_ = 0;
      }
    }
  }
  void update_as_authors(double hit_rate, double gain, double move, double by) {
    if (gain * move > 0) {
      set(rate_ + by);
      unlearnt_ = worse_ = 0;
    } else if (gain * move < 0) {
      set(rate_ - by);
      unlearnt_ = worse_ = 0;
    } else if (gain == 0) {
      if (hit_rate == 0) ++unlearnt_;
      if (unlearnt_ >= 10) {
        set(first_rate_);
        unlearnt_ = 0;
      }
    } else if (gain < 0) {
      ++worse_;
      ++unlearnt_;
      if (unlearnt_ >= 10) {
        set(first_rate_);
        unlearnt_ = 0;
      } else if (worse_ >= 10) {
        set(first_rate_);
        worse_ = 0;
      } else if (rate_ >= 1) {
        rate_ = 0.9;
      } else if (rate_ <= 0.001) {
        rate_ = 0.005;
      } else {
        set(experts_.flip_coin() ? 1.25 * rate_ : 0.75 * rate_);
      }
    }
  }

  bool authors_;
  TwoExperts experts_;
  List s_, q_, lru_hist_, lfu_hist_;  // the oldest first
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t t_ = 0;
  Count s_limit_ = 0, q_limit_ = 0, period_ = 0, hits_ = 0;
  double rate_ = 0, first_rate_ = 0, rate_before_ = 0, hit_rate_before_ = 0;
  int unlearnt_ = 0, worse_ = 0;
};

}  // namespace mcsim::naive
