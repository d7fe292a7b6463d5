#pragma once

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "tests/support/naive_policies.hpp"

// Twins of policies of servers and databases, written from their sources. Their clocks count
// accesses.
namespace mcsim::naive {

// The time of a policy, in seconds: the number of accesses over the rate.
class Seconds {
 public:
  explicit Seconds(Count rate) : rate_(rate) {}
  void advance() { ++accesses_; }
  Count in(Count per_second) const { return accesses_ * per_second / rate_; }

 private:
  Count rate_;
  Count accesses_ = 0;
};

// Redis, evict.c. The pool is sorted by rank; a new candidate is before others of its rank.
class Sampled : public Policy {
 public:
  Sampled(Count capacity, const ParamMap& params, std::string_view name)
      : Policy(capacity),
        samples_(param(params, "samples", std::int64_t{5})),
        most_(static_cast<std::size_t>(param(params, "pool", std::int64_t{16}))),
        clock_(param(params, "rate", std::int64_t{1000})),
        random_(Random(1).split(name)) {}
  bool contains(std::uint64_t block) const override { return find(block) != members_.end(); }
  void remove(std::uint64_t block) override {
    const auto at = members_.begin() + (find(block) - members_.cbegin());
    *at = members_.back();
    members_.pop_back();
  }

 protected:
  struct Member {
    std::uint64_t block = 0;
    Count last = 0;   // access, in units of the clock
    Count count = 0;  // of the policy of counts
  };

  virtual void use(Member& member, bool is_new) = 0;
  virtual Count rank(const Member& member) const = 0;

  bool on_access(std::uint64_t block, std::uint64_t) override {
    clock_.advance();
    const bool hit = contains(block);
    if (!hit) {
      if (size() == capacity_) evict();
      members_.push_back({.block = block});
    }
    use(members_[static_cast<std::size_t>(find(block) - members_.cbegin())], !hit);
    return hit;
  }
  void on_resize() override {
    while (size() > capacity_) evict();
  }

  Seconds& clock() { return clock_; }
  const Seconds& clock() const { return clock_; }
  Random& random() { return random_; }

 private:
  struct Candidate {
    std::uint64_t block;
    Count rank;
  };
  Count size() const { return static_cast<Count>(members_.size()); }
  std::vector<Member>::const_iterator find(std::uint64_t block) const {
    return std::find_if(members_.begin(), members_.end(),
                        [&](const Member& each) { return each.block == block; });
  }
  void evict() {
    for (Count i = 0; i < samples_; ++i) {
      const Member& drawn = members_[random_.below(members_.size())];
      offer({.block = drawn.block, .rank = rank(drawn)});
    }
    while (!pool_.empty()) {
      const std::uint64_t best = pool_.back().block;
      pool_.pop_back();
      if (!contains(best)) continue;
      victims.push_back(best);
      remove(best);
      return;
    }
    evict();
  }
  void offer(const Candidate& one) {
    if (pool_.size() == most_) {
      if (pool_.front().rank >= one.rank) return;
      pool_.erase(pool_.begin());
    }
    pool_.insert(std::find_if(pool_.begin(), pool_.end(),
                              [&](const Candidate& other) { return other.rank >= one.rank; }),
                 one);
  }

  Count samples_;
  std::size_t most_;
  Seconds clock_;
  Random random_;
  std::vector<Member> members_;
  std::vector<Candidate> pool_;
};

class SampledLru : public Sampled {
 public:
  SampledLru(Count capacity, const ParamMap& params)
      : Sampled(capacity, params, "sampled-lru"),
        milliseconds_(param(params, "resolution", std::int64_t{1000})) {}

 protected:
  void use(Member& member, bool) override { member.last = now(); }
  Count rank(const Member& member) const override {
    return now() - member.last + (now() < member.last ? (1 << 24) - 1 : 0);
  }

 private:
  Count now() const { return clock().in(1000) / milliseconds_ % (1 << 24); }
  Count milliseconds_;
};

class SampledLfu : public Sampled {
 public:
  SampledLfu(Count capacity, const ParamMap& params)
      : Sampled(capacity, params, "sampled-lfu"),
        factor_(param(params, "log_factor", std::int64_t{10})),
        decay_(param(params, "decay", std::int64_t{1})) {}

 protected:
  void use(Member& member, bool is_new) override {
    if (is_new) {
      member.count = 5;
    } else {
      member.count = decayed(member);
      if (member.count < 255) {
        const double above = std::max<double>(0, static_cast<double>(member.count) - 5);
        const double chance = 1.0 / (above * static_cast<double>(factor_) + 1);
        if (random().uniform() < chance) ++member.count;
      }
    }
    member.last = now();
  }
  Count rank(const Member& member) const override { return 255 - decayed(member); }

 private:
  Count now() const { return clock().in(1) / 60 % (1 << 16); }
  Count decayed(const Member& member) const {
    if (decay_ == 0) return member.count;
    const Count elapsed = now() - member.last + (now() < member.last ? (1 << 16) - 1 : 0);
    return std::max<Count>(0, member.count - elapsed / decay_);
  }
  Count factor_, decay_;
};

// CacheLib, MM2Q-inl.h: rebalance() after each insertion, removal and move from cold to warm.
class Lru2Q : public OfLists {
 public:
  Lru2Q(Count capacity, const ParamMap& params)
      : OfLists(capacity, {&hot_, &warm_, &cold_}),
        hot_share_(param(params, "hot", 0.3)),
        warm_share_(param(params, "warm", 0.4)),
        refresh_(param(params, "refresh", std::int64_t{60})),
        clock_(param(params, "rate", std::int64_t{1000})) {}

  void remove(std::uint64_t block) override {
    OfLists::remove(block);
    rebalance();
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    clock_.advance();
    const Count now = clock_.in(1);
    const bool hit = contains(block);
    if (hit && now < updated_[block] + refresh_) return true;
    updated_[block] = now;
    if (!hit) {
      if (held() >= capacity_) evict();
      hot_.push_front(block);
      rebalance();
    } else if (has(cold_, block)) {
      cold_.remove(block);
      warm_.push_front(block);
      rebalance();
    } else {
      List& own = has(hot_, block) ? hot_ : warm_;
      own.remove(block);
      own.push_front(block);
    }
    return hit;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
  }

 private:
  void rebalance() {
    while (size(warm_) > part_of(warm_share_, held())) shift(warm_, cold_);
    while (size(hot_) > part_of(hot_share_, held())) shift(hot_, cold_);
  }
  void evict() { out(!cold_.empty() ? cold_ : !hot_.empty() ? hot_ : warm_); }

  double hot_share_, warm_share_;
  Count refresh_;
  Seconds clock_;
  List hot_, warm_, cold_;  // newest first
  std::map<std::uint64_t, Count> updated_;
};

// InnoDB, buf0lru.cc: one list and the number of old blocks at its end.
class Midpoint : public Policy {
 public:
  Midpoint(Count capacity, const ParamMap& params)
      : Policy(capacity),
        ratio_(param(params, "old_percent", std::int64_t{37}) * 1024 / 100),
        threshold_(param(params, "window", std::int64_t{1000})),
        least_(param(params, "least", std::int64_t{512})),
        tolerance_(param(params, "tolerance", std::int64_t{20})),
        clock_(param(params, "rate", std::int64_t{1000})) {}
  bool contains(std::uint64_t block) const override { return position(block) < length(); }
  void remove(std::uint64_t block) override {
    take_out(block);
    ++freed_;
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    clock_.advance();
    const bool hit = contains(block);
    if (!hit) {
      if (length() == capacity_) evict();
      accessed_[block] = clock_.in(1'000'000'000);
      freed_clock_[block] = 0;
      if (length() < least_) {
        add_first(block);
      } else {
        const Count at = length() - old_ + (old_ > 0 ? 1 : 0);
        list_.insert(list_.begin() + at, block);
        ++old_;
        adjust();
      }
    }
    if (too_old(block)) {
      take_out(block);
      add_first(block);
    }
    return hit;
  }
  void on_resize() override {
    while (length() > capacity_) evict();
  }

 private:
  Count length() const { return static_cast<Count>(list_.size()); }
  Count position(std::uint64_t block) const {
    return std::find(list_.begin(), list_.end(), block) - list_.begin();
  }
  bool is_old(std::uint64_t block) const { return position(block) >= length() - old_; }
  bool too_old(std::uint64_t block) {
    if (freed_ == 0) return false;
    if (threshold_ != 0 && is_old(block)) {
      return clock_.in(1'000'000'000) - accessed_[block] >= threshold_ * 1'000'000;
    }
    return freed_ >= freed_clock_[block] + capacity_ * (1024 - ratio_) / (1024 * 4);
  }
  void add_first(std::uint64_t block) {
    list_.insert(list_.begin(), block);
    freed_clock_[block] = freed_;
    if (length() == least_) old_ = length();
    if (length() >= least_) adjust();
  }
  void take_out(std::uint64_t block) {
    const bool is_boundary = old_ > 0 && position(block) == length() - old_;
    if (is_boundary && length() > old_) ++old_;
    if (is_old(block)) --old_;
    list_.erase(list_.begin() + position(block));
    if (length() < least_) {
      old_ = 0;
    } else {
      adjust();
    }
  }
  void adjust() {
    const Count wanted = length() * ratio_ / 1024;
    while (old_ + tolerance_ < wanted) ++old_;
    while (old_ > wanted + tolerance_) --old_;
  }
  void evict() {
    const std::uint64_t last = list_.back();
    victims.push_back(last);
    take_out(last);
    ++freed_;
  }

  Count ratio_, threshold_, least_, tolerance_;
  Seconds clock_;
  std::vector<std::uint64_t> list_;  // most recent first
  Count old_ = 0;
  Count freed_ = 0;
  std::map<std::uint64_t, Count> accessed_, freed_clock_;
};

}  // namespace mcsim::naive
