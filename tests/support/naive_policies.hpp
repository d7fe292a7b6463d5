#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "tests/support/naive_policy.hpp"

// Eviction policies one can see are right: standard lists, searched from end to
// end, written from the publications and not from policies/eviction/.
namespace mcsim::naive {

// The value of a parameter, or its default.
template <class T>
T param(const ParamMap& params, const char* name, T otherwise) {
  const auto given = params.find(name);
  return given == params.end() ? otherwise : std::get<T>(given->second);
}

// One list of what is resident, in some order: FIFO, unless a hit does something.
class Fifo : public Policy {
 public:
  using Policy::Policy;
  bool contains(std::uint64_t block) const override { return has(list_, block); }
  void remove(std::uint64_t block) override { list_.remove(block); }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool held = has(list_, block);
    if (held) {
      hit(block);
    } else {
      if (size(list_) == capacity_) evict();
      list_.push_front(block);
    }
    return held;
  }
  void on_resize() override {
    while (size(list_) > capacity_) evict();
  }
  virtual void hit(std::uint64_t) {}
  virtual void evict() { victim(std::prev(list_.end())); }
  void victim(List::iterator at) {
    victims.push_back(*at);
    list_.erase(at);
  }
  List list_;  // newest first
};

class Lru : public Fifo {
 public:
  using Fifo::Fifo;

 protected:
  void hit(std::uint64_t block) override {
    list_.remove(block);
    list_.push_front(block);
  }
};

class Mru : public Lru {
 public:
  using Lru::Lru;

 protected:
  void evict() override { victim(list_.begin()); }
};

class Clock : public Fifo {
 public:
  using Fifo::Fifo;
  void remove(std::uint64_t block) override {
    list_.remove(block);
    marked_.erase(block);
  }

 protected:
  void hit(std::uint64_t block) override { marked_.insert(block); }
  // The oldest, unless marked: then it becomes the newest, unmarked.
  void evict() override {
    while (marked_.erase(list_.back()) == 1) {
      list_.push_front(list_.back());
      list_.pop_back();
    }
    victim(std::prev(list_.end()));
  }
  std::set<std::uint64_t> marked_;
};

// As published: a pointer into the queue that moves from tail to head.
class Sieve : public Clock {
 public:
  using Clock::Clock;
  void remove(std::uint64_t block) override {
    step_over(std::find(list_.begin(), list_.end(), block));
    Clock::remove(block);
  }

 protected:
  void evict() override {
    List::iterator at = hand_ == list_.end() ? std::prev(list_.end()) : hand_;
    while (marked_.erase(*at) == 1) {
      at = at == list_.begin() ? std::prev(list_.end()) : std::prev(at);
    }
    hand_ = at;
    step_over(at);
    victim(at);
  }
  // Where the hand is when the block it points to goes.
  void step_over(List::iterator at) {
    if (hand_ == at) hand_ = at == list_.begin() ? list_.end() : std::prev(at);
  }
  List::iterator hand_ = list_.end();  // the end: to begin at the tail
};

// Blocks in places: a newcomer takes its victim's, a hole is filled by the last.
class RandomEviction : public Policy {
 public:
  explicit RandomEviction(Count capacity) : Policy(capacity), random_(Random(1).split("random")) {}
  bool contains(std::uint64_t block) const override {
    return std::find(held_.begin(), held_.end(), block) != held_.end();
  }
  void remove(std::uint64_t block) override {
    *std::find(held_.begin(), held_.end(), block) = held_.back();
    held_.pop_back();
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) return true;
    if (static_cast<Count>(held_.size()) < capacity_) {
      held_.push_back(block);
    } else {
      std::uint64_t& unlucky = held_[random_.below(held_.size())];
      victims.push_back(unlucky);
      unlucky = block;
    }
    return false;
  }
  void on_resize() override {
    while (static_cast<Count>(held_.size()) > capacity_) {
      victims.push_back(held_[random_.below(held_.size())]);
      remove(victims.back());
    }
  }
  std::vector<std::uint64_t> held_;
  Random random_;
};

// Counts, and the time of the last access to break ties; searched from end to end.
class Lfu : public Policy {
 public:
  Lfu(Count capacity, bool forgets) : Policy(capacity), forgets_(forgets) {}
  bool contains(std::uint64_t block) const override { return held_.contains(block); }
  void remove(std::uint64_t block) override {
    held_.erase(block);
    if (forgets_) count_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool hit = contains(block);
    if (!hit && static_cast<Count>(held_.size()) == capacity_) evict();
    held_[block] = ++now_;
    ++count_[block];
    return hit;
  }
  void on_resize() override {
    while (static_cast<Count>(held_.size()) > capacity_) evict();
  }
  void evict() {
    const auto worst =
        std::min_element(held_.begin(), held_.end(), [&](const auto& a, const auto& b) {
          return std::pair(count_[a.first], a.second) < std::pair(count_[b.first], b.second);
        });
    victims.push_back(worst->first);
    remove(worst->first);
  }
  bool forgets_;
  std::uint64_t now_ = 0;
  std::map<std::uint64_t, std::uint64_t> held_;  // when it was last accessed
  std::map<std::uint64_t, std::uint64_t> count_;
};

class Slru : public OfLists {
 public:
  Slru(Count capacity, double share)
      : OfLists(capacity, {&probation_, &protected_}), share_(share) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      remove(block);
      protected_.push_front(block);
      settle();
      return true;
    }
    if (held() == capacity_) evict();
    probation_.push_front(block);
    return false;
  }
  void on_resize() override {
    settle();
    while (held() > capacity_) evict();
  }
  void settle() {
    const Count most = part_of(share_, capacity_);
    while (size(protected_) > std::max<Count>(1, most)) shift(protected_, probation_);
  }
  void evict() { out(probation_.empty() ? protected_ : probation_); }
  double share_;
  List probation_, protected_;  // most recent first
};

class TwoQ : public OfLists {
 public:
  TwoQ(Count capacity, double kin, double kout)
      : OfLists(capacity, {&a1in_, &am_}), kin_(kin), kout_(kout) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(am_, block)) {
      am_.remove(block);
      am_.push_front(block);
      return true;
    }
    if (has(a1in_, block)) return true;
    const bool known = has(a1out_, block);
    a1out_.remove(block);
    if (held() == capacity_) evict();
    (known ? am_ : a1in_).push_front(block);
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(a1out_) > part(kout_)) a1out_.pop_back();
  }
  Count part(double share) const { return std::max<Count>(1, part_of(share, capacity_)); }
  void evict() {
    if (size(a1in_) <= part(kin_) && !am_.empty()) return out(am_);
    a1out_.push_front(a1in_.back());
    out(a1in_);
    if (size(a1out_) > part(kout_)) a1out_.pop_back();
  }
  double kin_, kout_;
  List a1in_, am_, a1out_;  // newest first
};

class S3Fifo : public OfLists {
 public:
  S3Fifo(Count capacity, double small, Count promote_at, bool paper)
      : OfLists(capacity, {&small_, &main_}),
        share_(small),
        promote_at_(promote_at),
        paper_(paper) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      frequency_[block] = std::min<Count>(3, frequency_[block] + 1);
      return true;
    }
    const bool known = has(ghosts_, block);
    ghosts_.remove(block);
    while (held() >= capacity_) evict();
    const bool spills = !paper_ && !has_evicted_ && size(small_) >= small_size();
    (known || spills ? main_ : small_).push_front(block);
    frequency_[block] = 0;
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(ghosts_) > most_ghosts()) ghosts_.pop_back();
  }
  Count small_size() const { return std::max<Count>(1, part_of(share_, capacity_)); }
  Count main_size() const { return std::max<Count>(0, capacity_ - small_size()); }
  // In libCacheSim, `ghost-size-ratio` is 0.90 and does not follow the size of the small queue.
  Count most_ghosts() const { return paper_ ? main_size() : capacity_ * 9 / 10; }
  void evict() {
    has_evicted_ = true;
    if (size(small_) >= small_size() || main_.empty()) {
      evict_small();
    } else {
      evict_main();
    }
  }
  void evict_small() {
    for (bool evicted = false; !evicted && !small_.empty();) {
      const std::uint64_t tail = small_.back();
      small_.pop_back();
      if (frequency_[tail] >= promote_at_) {
        main_.push_front(tail);
        frequency_[tail] = 0;
        if (paper_ && size(main_) > main_size()) evict_main();
      } else {
        victims.push_back(tail);
        ghosts_.push_front(tail);
        if (size(ghosts_) > most_ghosts()) ghosts_.pop_back();
        evicted = true;
      }
    }
  }
  void evict_main() {
    for (bool evicted = false; !evicted;) {
      const std::uint64_t tail = main_.back();
      main_.pop_back();
      evicted = frequency_[tail] == 0;
      if (evicted) {
        victims.push_back(tail);
      } else {
        --frequency_[tail];
        main_.push_front(tail);
      }
    }
  }
  double share_;
  Count promote_at_;
  bool paper_;
  bool has_evicted_ = false;
  List small_, main_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> frequency_;
};

// Figure 4 of the paper, by its cases.
class Arc : public OfLists {
 public:
  Arc(Count capacity, bool integer) : OfLists(capacity, {&t1_, &t2_}), integer_(integer) {}

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    const auto c = static_cast<double>(capacity_);
    if (contains(x)) {  // case I
      remove(x);
      t2_.push_front(x);
      return true;
    }
    if (has(b1_, x)) {  // case II
      p_ = std::min(c, p_ + ratio(b2_, b1_));
      replace(false);
      b1_.remove(x);
      t2_.push_front(x);
      return false;
    }
    if (has(b2_, x)) {  // case III
      p_ = std::max(0.0, p_ - ratio(b1_, b2_));
      replace(true);
      b2_.remove(x);
      t2_.push_front(x);
      return false;
    }
    if (size(t1_) + size(b1_) == capacity_) {  // case IV, A
      if (size(t1_) < capacity_) {
        b1_.pop_back();
        replace(false);
      } else {
        out(t1_);
      }
    } else {  // B
      const Count total = held() + size(b1_) + size(b2_);
      if (total >= capacity_) {
        if (total == 2 * capacity_) b2_.pop_back();
        replace(false);
      }
    }
    t1_.push_front(x);
    return false;
  }
  void on_resize() override {
    p_ = std::min(p_, static_cast<double>(capacity_));
    while (held() > capacity_) demote(false);
    while (size(t1_) + size(b1_) > capacity_) b1_.pop_back();
    while (held() + size(b1_) + size(b2_) > 2 * capacity_) b2_.pop_back();
  }
  double ratio(const List& other, const List& hit) const {
    const Count whole = size(other) / size(hit);
    if (integer_) return static_cast<double>(std::max<Count>(1, whole));
    return std::max(1.0, static_cast<double>(size(other)) / static_cast<double>(size(hit)));
  }
  // A cache with space left, after it grew or blocks were removed, evicts nothing.
  void replace(bool x_in_b2) {
    if (held() == capacity_) demote(x_in_b2);
  }
  void demote(bool x_in_b2) {
    const auto t1 = static_cast<double>(t1_.size());
    const bool first = !t1_.empty() && (t1 > p_ || (x_in_b2 && t1 == p_));
    List& from = first || t2_.empty() ? t1_ : t2_;
    List& to = &from == &t1_ ? b1_ : b2_;
    to.push_front(from.back());
    out(from);
  }
  bool integer_;
  double p_ = 0;
  List t1_, t2_, b1_, b2_;  // most recent first
};

// Farthest next use. Which of the blocks never used again leaves changes no count; here it
// is the one accessed last. With refusal, the accessed block is a candidate as well.
class Opt : public Policy {
 public:
  Opt(Count capacity, bool refuses) : Policy(capacity), refuses_(refuses) {}
  bool contains(std::uint64_t block) const override { return held_.contains(block); }
  void remove(std::uint64_t block) override { held_.erase(block); }

 protected:
  struct Held {
    std::uint64_t next_use;
    std::uint64_t accessed;
  };
  bool on_access(std::uint64_t block, std::uint64_t next_use) override {
    const bool hit = contains(block);
    if (refuses_) {
      held_[block] = {next_use, ++now_};
      on_resize();
      if (!victims.empty() && victims.back() == block) victims.clear();
      return hit;
    }
    if (!hit && static_cast<Count>(held_.size()) == capacity_) evict();
    held_[block] = {next_use, ++now_};
    return hit;
  }
  void on_resize() override {
    while (static_cast<Count>(held_.size()) > capacity_) evict();
  }
  void evict() {
    const auto farthest =
        std::max_element(held_.begin(), held_.end(), [](const auto& a, const auto& b) {
          return std::pair(a.second.next_use, a.second.accessed) <
                 std::pair(b.second.next_use, b.second.accessed);
        });
    victims.push_back(farthest->first);
    remove(farthest->first);
  }
  bool refuses_;
  std::map<std::uint64_t, Held> held_;
  std::uint64_t now_ = 0;
};

}  // namespace mcsim::naive
