#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "tests/support/naive_policies.hpp"

// Twins of the policies that count accesses.
namespace mcsim::naive {

// The sketch and the filter are those of the core, which have tests of their own.
class WTinyLfu : public OfLists {
 public:
  WTinyLfu(Count capacity, const ParamMap& params, std::size_t blocks)
      : OfLists(capacity, {&window_, &probation_, &protected_}),
        params_(params),
        blocks_(blocks),
        sketch_(counters()),
        door_(keys()),
        random_(Random(1).split("w-tinylfu")) {
    begin();
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    if (held() >= part_of(param(params_, "start", 0.0), capacity_)) has_started_ = true;
    if (has_started_) learn(x);
    const bool hit = contains(x);
    if (has(window_, x)) {
      window_.remove(x);
      window_.push_front(x);
    } else if (hit) {
      remove(x);
      protected_.push_front(x);
    } else {
      if (held() == capacity_) make_room();
      window_.push_front(x);
    }
    settle();
    if (has_started_ && param(params_, "climb", false)) observe(hit);
    return hit;
  }

  void on_resize() override {
    begin();
    settle();
    while (held() > capacity_) out(*main_victims());
    sketch_.reserve(counters());
    door_.reserve(keys());
  }

 private:
  std::size_t keys() const { return std::min(static_cast<std::size_t>(capacity_), blocks_); }
  std::size_t counters() const {
    return static_cast<std::size_t>(
        part_of(param(params_, "counters", 16.0), sketched(static_cast<Count>(keys()))));
  }
  Count sketched(Count blocks) const {
    const Count fixed = param(params_, "sketch_blocks", std::int64_t{0});
    return fixed == 0 ? blocks : fixed;
  }
  static Count share(double of, Count whole) { return std::max<Count>(1, part_of(of, whole)); }
  void begin() {
    period_ = share(param(params_, "sample", 10.0), sketched(capacity_));
    seen_ = hits_ = 0;
    rate_ = -1;
    step_ = first_step();
    widen_to(share(param(params_, "window", 0.01), capacity_));
  }
  double first_step() const {
    return param(params_, "step", 0.0625) * static_cast<double>(capacity_);
  }
  void widen_to(Count window) {
    most_window_ = std::max<Count>(1, std::min(window, capacity_ - 1));
    most_protected_ = share(param(params_, "protected_share", 0.8), capacity_ - most_window_);
  }
  void settle() {
    while (size(window_) > most_window_) shift(window_, probation_);
    while (size(protected_) > most_protected_) shift(protected_, probation_);
  }

  List* main_victims() {
    if (!probation_.empty()) return &probation_;
    return protected_.empty() ? &window_ : &protected_;
  }
  void make_room() {
    List& main = *main_victims();
    if (&main == &window_ || size(window_) < most_window_) return out(main);
    const std::uint32_t f = frequency(window_.back());
    const std::uint32_t g = frequency(main.back());
    bool wins = f > g || (param(params_, "admit_ties", false) && f == g);
    if (!wins && param(params_, "jitter", false) && f >= 6) wins = random_.below(128) == 0;
    if (!wins) return out(window_);
    out(main);
    shift(window_, probation_);
  }

  bool has_door() const { return param(params_, "doorkeeper", false); }
  void learn(std::uint64_t x) {
    bool counted = true;
    if (!has_door() || door_.insert(x)) {
      counted = param(params_, "conservative", false) ? sketch_.add_to_least(x) : sketch_.add(x);
    }
    additions_ += counted ? 1 : 0;
    if (!counted || additions_ < period_) return;
    additions_ = period_ / 2;
    sketch_.halve();
    door_.clear();
  }
  std::uint32_t frequency(std::uint64_t x) const {
    return sketch_.estimate(x) + (has_door() && door_.contains(x) ? 1 : 0);
  }

  void observe(bool hit) {
    ++seen_;
    hits_ += hit ? 1 : 0;
    if (seen_ < period_) return;
    const double rate = static_cast<double>(hits_) / static_cast<double>(seen_);
    const double change = rate_ < 0 ? 0 : rate - rate_;
    rate_ = rate;
    seen_ = hits_ = 0;
    if (change < 0) step_ = -step_;
    widen_to(most_window_ + static_cast<Count>(step_));
    if (std::abs(change) < 0.05) {
      step_ *= 0.98;
    } else {
      step_ = std::copysign(first_step(), step_);
    }
    settle();
  }

  ParamMap params_;
  std::size_t blocks_;
  CountMinSketch sketch_;
  BloomFilter door_;
  Random random_;
  List window_, probation_, protected_;
  Count most_window_ = 0, most_protected_ = 0;
  Count period_ = 0, additions_ = 0, seen_ = 0, hits_ = 0;
  double rate_ = 0, step_ = 0;
  bool has_started_ = false;
};

// Keys K = F + L; the victim is found by looking at all.
class LfuDa : public Policy {
 public:
  using Policy::Policy;
  bool contains(std::uint64_t block) const override { return blocks_.contains(block); }
  void remove(std::uint64_t block) override { blocks_.erase(block); }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    const bool hit = contains(x);
    if (!hit && static_cast<Count>(blocks_.size()) == capacity_) evict();
    Block& block = blocks_[x];
    ++block.count;
    block.key = block.count + age_;
    block.last = ++now_;
    return hit;
  }
  void on_resize() override {
    while (static_cast<Count>(blocks_.size()) > capacity_) evict();
  }

 private:
  struct Block {
    std::uint64_t count = 0, key = 0, last = 0;
  };
  void evict() {
    const auto victim =
        std::min_element(blocks_.begin(), blocks_.end(), [](const auto& a, const auto& b) {
          return std::pair(a.second.key, a.second.last) < std::pair(b.second.key, b.second.last);
        });
    age_ = victim->second.key;
    victims.push_back(victim->first);
    blocks_.erase(victim);
  }

  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t age_ = 0, now_ = 0;
};

class S4Lru : public Policy {
 public:
  S4Lru(Count capacity, std::int64_t segments, bool fill)
      : Policy(capacity), lists_(static_cast<std::size_t>(segments)), fill_(fill) {}
  bool contains(std::uint64_t block) const override {
    return std::any_of(lists_.begin(), lists_.end(),
                       [&](const List& list) { return has(list, block); });
  }
  void remove(std::uint64_t block) override {
    for (List& list : lists_) list.remove(block);
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    std::size_t to = 0;
    const bool hit = contains(x);
    if (hit) {
      while (!has(lists_[to], x)) ++to;
      lists_[to].remove(x);
      if (to + 1 < lists_.size()) ++to;
    } else if (fill_) {
      while (to < lists_.size() && size(lists_[to]) >= every()) ++to;
      if (to == lists_.size()) to = 0;
    }
    lists_[to].push_front(x);
    on_resize();
    return hit;
  }
  void on_resize() override {
    for (std::size_t i = lists_.size(); i-- > 0;) {
      while (size(lists_[i]) > most(i)) {
        if (i > 0) {
          lists_[i - 1].push_front(lists_[i].back());
        } else {
          victims.push_back(lists_[i].back());
        }
        lists_[i].pop_back();
      }
    }
  }

 private:
  // The share of every list in libCacheSim: its quotient of integers.
  Count every() const { return capacity_ / static_cast<Count>(lists_.size()); }
  // Whole blocks of the capacity dealt out in turn, from the lowest segment. With `fill`, the
  // lowest segment has all blocks that are not in the shares of the others.
  Count most(std::size_t segment) const {
    if (fill_ && segment > 0) return every();
    if (fill_) return capacity_ - (static_cast<Count>(lists_.size()) - 1) * every();
    Count share = 0;
    for (auto i = static_cast<Count>(segment); i < capacity_;
         i += static_cast<Count>(lists_.size())) {
      ++share;
    }
    return share;
  }

  std::vector<List> lists_;
  bool fill_;
};

// HIST and LAST as in the paper, and a look at all pages for the victim.
class LruK : public Policy {
 public:
  LruK(Count capacity, std::int64_t k, std::int64_t correlated, double history)
      : Policy(capacity), k_(static_cast<std::size_t>(k)), crp_(correlated), history_(history) {}
  bool contains(std::uint64_t block) const override { return has(held_, block); }
  void remove(std::uint64_t block) override {
    held_.remove(block);
    pages_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t p, std::uint64_t) override {
    ++t_;
    if (contains(p)) {
      Page& page = pages_[p];
      if (t_ - page.last > crp_) {
        const std::int64_t period = page.last - page.hist[0];
        for (std::size_t i = k_; i-- > 1;) {
          page.hist[i] = page.hist[i - 1] == 0 ? 0 : page.hist[i - 1] + period;
        }
        page.hist[0] = t_;
      }
      page.last = t_;
      return true;
    }
    if (size(held_) == capacity_) evict();
    Page& page = pages_[p];
    page.hist.resize(k_);
    page.hist.insert(page.hist.begin(), t_);
    page.hist.pop_back();
    page.last = t_;
    held_.push_back(p);
    gone_.remove(p);
    return false;
  }
  void on_resize() override {
    while (size(held_) > capacity_) evict();
    forget();
  }

 private:
  struct Page {
    std::vector<std::int64_t> hist;  // times of uncorrelated references, 0 for none
    std::int64_t last = 0;
  };
  void evict() {
    const auto before = [&](std::uint64_t a, std::uint64_t b) {
      const auto rank = [&](std::uint64_t block) {
        const Page& page = pages_.at(block);
        const bool correlated = crp_ > 0 && t_ - page.last <= crp_;
        return std::tuple(correlated, correlated ? 0 : page.hist[k_ - 1], page.last);
      };
      return rank(a) < rank(b);
    };
    const std::uint64_t victim = *std::min_element(held_.begin(), held_.end(), before);
    victims.push_back(victim);
    held_.remove(victim);
    gone_.push_back(victim);
    forget();
  }
  void forget() {
    while (size(gone_) > part_of(history_, capacity_)) {
      pages_.erase(gone_.front());
      gone_.pop_front();
    }
  }

  std::size_t k_;
  std::int64_t crp_;
  double history_;
  std::map<std::uint64_t, Page> pages_;
  List held_, gone_;
  std::int64_t t_ = 0;
};

// The pseudo-code of the paper's figure 5; heads of queues are at the front.
class Mq : public Policy {
 public:
  Mq(Count capacity, std::int64_t queues, double lifetime, double ghosts)
      : Policy(capacity),
        q_(static_cast<std::size_t>(queues)),
        lifetime_(lifetime),
        ghosts_(ghosts) {}
  bool contains(std::uint64_t block) const override {
    return std::any_of(q_.begin(), q_.end(), [&](const List& q) { return has(q, block); });
  }
  void remove(std::uint64_t block) override {
    for (List& q : q_) q.remove(block);
    blocks_.erase(block);
  }

 protected:
  bool on_access(std::uint64_t b, std::uint64_t) override {
    const bool hit = contains(b);
    if (!hit) {
      if (held() == capacity_) evict();
      out_.remove(b);
    }
    for (List& q : q_) q.remove(b);
    Block& block = blocks_[b];
    ++block.references;
    std::size_t k = 0;
    while (k + 1 < q_.size() && block.references >= 2ULL << k) ++k;
    q_[k].push_back(b);
    block.expires = time_ + life();
    adjust();
    return hit;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    forget();
  }

 private:
  struct Block {
    std::uint64_t references = 0;
    Count expires = 0;
  };
  Count held() const {
    Count held = 0;
    for (const List& q : q_) held += size(q);
    return held;
  }
  Count life() const { return part_of(lifetime_, capacity_); }
  void evict() {
    const auto q =
        std::find_if(q_.begin(), q_.end(), [](const List& each) { return !each.empty(); });
    victims.push_back(q->front());
    out_.push_back(q->front());
    q->pop_front();
    forget();
  }
  void forget() {
    while (size(out_) > part_of(ghosts_, capacity_)) {
      blocks_.erase(out_.front());
      out_.pop_front();
    }
  }
  void adjust() {
    ++time_;
    for (std::size_t k = 1; k < q_.size(); ++k) {
      if (q_[k].empty() || blocks_[q_[k].front()].expires >= time_) continue;
      blocks_[q_[k].front()].expires = time_ + life();
      q_[k - 1].push_back(q_[k].front());
      q_[k].pop_front();
    }
  }

  std::vector<List> q_;
  List out_;
  double lifetime_, ghosts_;
  std::map<std::uint64_t, Block> blocks_;
  Count time_ = 0;
};

// Draws what the policy draws: members are numbered as they come in, and the last one
// takes the number of one that leaves.
class Hyperbolic : public Policy {
 public:
  Hyperbolic(Count capacity, std::int64_t sample, double leeway)
      : Policy(capacity),
        sample_(sample),
        leeway_(leeway),
        random_(Random(1).split("hyperbolic")) {}
  bool contains(std::uint64_t block) const override { return find(block) != members_.end(); }
  void remove(std::uint64_t block) override {
    const auto at = members_.begin() + (find(block) - members_.cbegin());
    *at = members_.back();
    members_.pop_back();
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    ++now_;
    const auto at = find(x);
    if (at != members_.end()) {
      members_[static_cast<std::size_t>(at - members_.cbegin())].count += 1;
      return true;
    }
    if (static_cast<Count>(members_.size()) == capacity_) evict(now_);
    const double guess = victims_so_far_ == 0 ? 1 : last_priority_;
    members_.push_back({.block = x, .count = leeway_ + (1 - leeway_) * guess, .came = now_});
    return false;
  }
  void on_resize() override {
    while (static_cast<Count>(members_.size()) > capacity_) evict(now_ + 1);
  }

 private:
  struct Member {
    std::uint64_t block;
    double count;
    double came;
  };
  std::vector<Member>::const_iterator find(std::uint64_t block) const {
    return std::find_if(members_.begin(), members_.end(),
                        [&](const Member& each) { return each.block == block; });
  }
  void evict(double now) {
    std::vector<Member> drawn;
    for (std::int64_t i = 0; i < sample_; ++i) {
      drawn.push_back(members_[random_.below(members_.size())]);
    }
    const auto priority = [&](const Member& each) { return each.count / (now - each.came); };
    const auto least = std::min_element(
        drawn.begin(), drawn.end(),
        [&](const Member& a, const Member& b) { return priority(a) < priority(b); });
    ++victims_so_far_;
    last_priority_ = priority(*least);
    victims.push_back(least->block);
    remove(least->block);
  }

  std::int64_t sample_;
  double leeway_;
  Random random_;
  std::vector<Member> members_;
  double now_ = 0;
  std::int64_t victims_so_far_ = 0;
  double last_priority_ = 0;
};

}  // namespace mcsim::naive
