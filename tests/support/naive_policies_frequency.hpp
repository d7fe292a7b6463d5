#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "tests/support/naive_policies.hpp"

// Twins of the policies that count accesses.
namespace mcsim::naive {

// The sketch and the filter are those of the core, which have tests of their own.
class WTinyLfu : public Policy {
 public:
  WTinyLfu(Count capacity, const ParamMap& params, std::size_t blocks)
      : Policy(capacity),
        params_(params),
        blocks_(blocks),
        sketch_(counters()),
        door_(keys()),
        random_(Random(1).split("w-tinylfu")) {
    begin();
  }
  bool contains(std::uint64_t block) const override {
    return has(window_, block) || has(probation_, block) || has(protected_, block);
  }
  void remove(std::uint64_t block) override {
    for (List* list : {&window_, &probation_, &protected_}) list->remove(block);
  }

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    learn(x);
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
    if (param(params_, "climb", false)) observe(hit);
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
    return static_cast<std::size_t>(param(params_, "counters", 16.0) * static_cast<double>(keys()));
  }
  Count held() const { return size(window_) + size(probation_) + size(protected_); }
  static Count share(double of, Count whole) {
    return std::max<Count>(1, static_cast<Count>(of * static_cast<double>(whole)));
  }
  void begin() {
    period_ = share(param(params_, "sample", 10.0), capacity_);
    seen_ = hits_ = 0;
    rate_ = -1;
    step_ = static_cast<double>(capacity_) / 16;
    widen_to(share(param(params_, "window", 0.01), capacity_));
  }
  void widen_to(Count window) {
    most_window_ = std::max<Count>(1, std::min(window, capacity_ - 1));
    most_protected_ = share(param(params_, "protected_share", 0.8), capacity_ - most_window_);
  }
  void settle() {
    while (size(window_) > most_window_) shift(window_, probation_);
    while (size(protected_) > most_protected_) shift(protected_, probation_);
  }
  static void shift(List& from, List& to) {
    to.push_front(from.back());
    from.pop_back();
  }
  void out(List& list) {
    victims.push_back(list.back());
    list.pop_back();
  }

  List* main_victims() {
    if (!probation_.empty()) return &probation_;
    return protected_.empty() ? &window_ : &protected_;
  }
  void make_room() {
    List& main = *main_victims();
    if (&main == &window_ || size(window_) < most_window_) return out(main);
    const std::uint32_t f = frequency(window_.back());
    bool wins = f > frequency(main.back());
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
      step_ = std::copysign(static_cast<double>(capacity_) / 16, step_);
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
      while (to < lists_.size() && size(lists_[to]) >= most(to)) ++to;
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
  // Whole blocks of the capacity dealt out in turn, from the lowest segment.
  Count most(std::size_t segment) const {
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

inline std::unique_ptr<Policy> frequency_twin(std::string_view name, const ParamMap& params,
                                              Count capacity, std::size_t blocks) {
  if (name == "w-tinylfu") return std::make_unique<WTinyLfu>(capacity, params, blocks);
  if (name == "lfu-da" || name == "gdsf") return std::make_unique<LfuDa>(capacity);
  if (name == "s4lru") {
    return std::make_unique<S4Lru>(capacity, param(params, "segments", std::int64_t{4}),
                                   param(params, "fill", false));
  }
  return nullptr;
}

}  // namespace mcsim::naive
