#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/containers/count_min_sketch.hpp"
#include "tests/support/naive_policies.hpp"

// Twins of policies of cache libraries, written from the rules that the libraries publish.
namespace mcsim::naive {

// 2Q of golang-lru: a full ghost list loses its oldest for each victim; what it held before decides
// where a new block goes.
class GolangTwoQ : public OfLists {
 public:
  GolangTwoQ(Count capacity, double kin, double kout)
      : OfLists(capacity, {&recent_, &frequent_}), kin_(kin), kout_(kout) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool hit = contains(block);
    const bool known = has(ghosts_, block);
    if (!hit && held() >= capacity_) evict(known);
    remove(block);
    ghosts_.remove(block);
    (hit || known ? frequent_ : recent_).push_front(block);
    return hit;
  }
  void on_resize() override {
    while (held() > capacity_) evict(false);
    while (size(ghosts_) > most_ghosts()) ghosts_.pop_back();
  }

 private:
  Count most_ghosts() const { return std::max<Count>(1, part_of(kout_, capacity_)); }
  void evict(bool for_ghost) {
    const Count target = part_of(kin_, capacity_);
    const bool from_recent =
        !recent_.empty() && (size(recent_) > target || (size(recent_) == target && !for_ghost));
    if (!from_recent && !frequent_.empty()) return out(frequent_);
    ghosts_.push_front(recent_.back());
    out(recent_);
    if (size(ghosts_) > most_ghosts()) ghosts_.pop_back();
  }
  double kin_, kout_;
  List recent_, frequent_, ghosts_;  // newest first
};

// ARC of golang-lru, with the target as a real number.
class GolangArc : public OfLists {
 public:
  GolangArc(Count capacity, bool integer) : OfLists(capacity, {&t1_, &t2_}), integer_(integer) {}

 protected:
  bool on_access(std::uint64_t x, std::uint64_t) override {
    const bool hit = contains(x);
    if (hit || has(b1_, x) || has(b2_, x)) {
      if (has(b1_, x)) p_ = std::min(real(capacity_), p_ + delta(b2_, b1_));
      if (has(b2_, x)) p_ = std::max(0.0, p_ - delta(b1_, b2_));
      if (!hit && held() >= capacity_) replace(has(b2_, x));
      remove(x);
      b1_.remove(x);
      b2_.remove(x);
      t2_.push_front(x);
      return hit;
    }
    if (held() >= capacity_) replace(false);
    if (real(size(b1_)) > real(capacity_) - p_) b1_.pop_back();
    if (real(size(b2_)) > p_) b2_.pop_back();
    t1_.push_front(x);
    return false;
  }
  void on_resize() override {
    p_ = std::min(p_, real(capacity_));
    while (held() > capacity_) replace(false);
    while (size(b1_) > capacity_) b1_.pop_back();
    while (size(b2_) > capacity_) b2_.pop_back();
  }

 private:
  static double real(Count count) { return static_cast<double>(count); }
  double delta(const List& longer, const List& own) const {
    if (size(longer) <= size(own)) return 1;
    return integer_ ? real(size(longer) / size(own)) : real(size(longer)) / real(size(own));
  }
  void replace(bool in_b2) {
    const double t1 = real(size(t1_));
    const bool first = t1 > 0 && (t1 > p_ || (in_b2 && t1 == p_));
    List& from = first || t2_.empty() ? t1_ : t2_;
    List& ghosts = &from == &t1_ ? b1_ : b2_;
    ghosts.push_front(from.back());
    out(from);
    if (size(ghosts) > capacity_) ghosts.pop_back();
  }
  bool integer_;
  double p_ = 0;
  List t1_, t2_, b1_, b2_;  // most recent first
};

// Each block has the number of the generation in which it was last used.
class Generations : public Policy {
 public:
  using Policy::Policy;
  bool contains(std::uint64_t block) const override { return used_in_.contains(block); }
  void remove(std::uint64_t block) override { used_in_.erase(block); }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    const bool hit = contains(block);
    if (hit && used_in_[block].first == now_) return true;
    const bool completes = in(now_) + 1 >= (capacity_ + 1) / 2;
    if (!hit) {
      evict_while([&] { return oldest()->second.first < now_ - (completes ? 0 : 1); });
      evict_while([&] { return static_cast<Count>(used_in_.size()) >= capacity_; });
    }
    used_in_[block] = {now_, ++moment_};
    if (completes) ++now_;
    return hit;
  }
  void on_resize() override {
    evict_while([&] { return static_cast<Count>(used_in_.size()) > capacity_; });
  }

 private:
  using Blocks = std::map<std::uint64_t, std::pair<std::int64_t, std::uint64_t>>;

  Count in(std::int64_t generation) const {
    return std::count_if(used_in_.begin(), used_in_.end(),
                         [&](const auto& one) { return one.second.first == generation; });
  }
  Blocks::iterator oldest() {
    return std::min_element(used_in_.begin(), used_in_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  }
  template <class Excess>
  void evict_while(Excess excess) {
    while (!used_in_.empty() && excess()) {
      victims.push_back(oldest()->first);
      used_in_.erase(oldest());
    }
  }

  Blocks used_in_;  // the generation and the moment in which a block entered it
  std::int64_t now_ = 0;
  std::uint64_t moment_ = 0;
};

class TwoPoolLru : public OfLists {
 public:
  TwoPoolLru(Count capacity, double first) : OfLists(capacity, {&high_, &low_}), share_(first) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    for (List* pool : {&high_, &low_}) {
      if (!has(*pool, block)) continue;
      pool->remove(block);
      pool->push_front(block);
      return true;
    }
    if (held() >= capacity_) evict();
    high_.push_front(block);
    settle();
    return false;
  }
  void on_resize() override {
    settle();
    while (held() > capacity_) evict();
  }

 private:
  void settle() {
    while (size(high_) > std::max<Count>(1, part_of(share_, capacity_))) shift(high_, low_);
  }
  void evict() { out(low_.empty() ? high_ : low_); }
  double share_;
  List high_, low_;
};

// The sketch is that of the core, which has tests of its own.
class TinyLfu : public Lru {
 public:
  TinyLfu(Count capacity, const ParamMap& params, std::size_t blocks)
      : Lru(capacity), params_(params), blocks_(blocks), sketch_(counters()) {}

 protected:
  bool on_access(std::uint64_t x, std::uint64_t next_use) override {
    if (size(list_) >= part_of(param(params_, "start", 0.0), capacity_)) counts_ = true;
    if (counts_ && sketch_.add(x)) {
      if (++added_ >= std::max<Count>(1, part_of(param(params_, "sample", 10.0), capacity_))) {
        added_ = added_ / 2;
        sketch_.halve();
      }
    }
    const bool is_full = size(list_) == capacity_;
    if (!has(list_, x) && is_full && sketch_.estimate(x) <= sketch_.estimate(list_.back())) {
      return false;
    }
    return Lru::on_access(x, next_use);
  }
  void on_resize() override {
    Lru::on_resize();
    sketch_.reserve(counters());
  }

 private:
  std::size_t counters() const {
    const auto keys = static_cast<Count>(std::min(static_cast<std::size_t>(capacity_), blocks_));
    return static_cast<std::size_t>(part_of(param(params_, "counters", 16.0), keys));
  }
  ParamMap params_;
  std::size_t blocks_;
  CountMinSketch sketch_;
  Count added_ = 0;
  bool counts_ = false;
};

// Algorithm 1 of LARC: the queue Q of blocks and the queue Qr of their names.
class Larc : public OfLists {
 public:
  explicit Larc(Count capacity) : OfLists(capacity, {&q_}), cr_(0.1 * c()) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(q_, block)) {
      cr_ = std::max(0.1 * c(), cr_ - c() / (c() - cr_));
      q_.remove(block);
      q_.push_front(block);
      return true;
    }
    cr_ = std::min(0.9 * c(), cr_ + c() / cr_);
    if (has(qr_, block)) {
      qr_.remove(block);
      if (size(q_) == capacity_) out(q_);
      q_.push_front(block);
    } else {
      qr_.push_front(block);
      if (static_cast<double>(qr_.size()) > cr_) qr_.pop_back();
    }
    return false;
  }
  void on_resize() override {
    cr_ = std::max(0.1 * c(), std::min(0.9 * c(), cr_));
    while (size(q_) > capacity_) out(q_);
    while (static_cast<double>(qr_.size()) > 0.9 * c()) qr_.pop_back();
  }

 private:
  double c() const { return static_cast<double>(capacity_); }
  List q_, qr_;  // most recent first
  double cr_;
};

// The oldest of each clock is where its hand is.
class ClockPair : public OfLists {
 public:
  ClockPair(Count capacity, double hot, double ghosts, Count most)
      : OfLists(capacity, {&cold_, &hot_}), share_(hot), remembers_(ghosts), most_(most) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      if (most_ == 0 || count_[block] < most_) ++count_[block];
      return true;
    }
    const bool known = has(ghosts_, block);
    const bool hot = known || size(hot_) < most_hot();
    ghosts_.remove(block);
    while (held() >= capacity_) turn_cold_hand(known ? 1 : 0);
    (hot ? hot_ : cold_).push_front(block);
    count_[block] = 0;
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) turn_cold_hand(0);
    trim();
  }

 private:
  Count most_hot() const { return std::max<Count>(1, part_of(share_, capacity_)); }
  void trim() {
    while (size(ghosts_) > part_of(remembers_, capacity_)) ghosts_.pop_back();
  }
  void turn_cold_hand(Count soon_hot) {
    if (cold_.empty()) return turn_hot_hand();
    if (count_[cold_.back()] == 0) {
      ghosts_.push_front(cold_.back());
      out(cold_);
      return trim();
    }
    --count_[cold_.back()];
    shift(cold_, hot_);
    while (size(hot_) + soon_hot > most_hot()) turn_hot_hand();
  }
  void turn_hot_hand() {
    while (count_[hot_.back()] > 0) {
      --count_[hot_.back()];
      shift(hot_, hot_);
    }
    out(hot_);
  }
  double share_, remembers_;
  Count most_;
  List cold_, hot_, ghosts_;
  std::map<std::uint64_t, Count> count_;
};

// S3-FIFO of foyer. A name stays a ghost until as many newer ones as the cache has blocks.
class FoyerS3Fifo : public OfLists {
 public:
  FoyerS3Fifo(Count capacity, double small, Count promote_at)
      : OfLists(capacity, {&small_, &main_}), share_(small), promote_at_(promote_at) {}
  void remove(std::uint64_t block) override {
    OfLists::remove(block);
    ghosts_.remove(block);
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      uses_[block] = std::min<Count>(3, uses_[block] + 1);
      return true;
    }
    while (held() >= capacity_) evict();
    (has(ghosts_, block) ? main_ : small_).push_front(block);
    uses_[block] = 0;
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(ghosts_) > capacity_) ghosts_.pop_back();
  }

 private:
  void evict() {
    for (bool is_long = size(small_) > part_of(share_, capacity_); is_long && !small_.empty();) {
      const std::uint64_t oldest = small_.back();
      if (uses_[oldest] < promote_at_) {
        while (!ghosts_.empty() && size(ghosts_) >= capacity_) ghosts_.pop_back();
        ghosts_.push_front(oldest);
        return out(small_);
      }
      shift(small_, main_);
    }
    if (main_.empty()) return out(small_);
    while (uses_[main_.back()] > 0) {
      --uses_[main_.back()];
      shift(main_, main_);
    }
    out(main_);
  }

  double share_;
  Count promote_at_;
  List small_, main_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> uses_;
};

// The clocks of cache2k: the hand of each points to the back of its list.
class Cache2k : public OfLists {
 public:
  Cache2k(Count capacity, double hot, double ghosts, Count most)
      : OfLists(capacity, {&cold_, &hot_}), share_(hot), remembers_(ghosts), most_(most) {}
  void remove(std::uint64_t block) override {
    OfLists::remove(block);
    ghosts_.remove(block);
  }

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      if (most_ == 0 || hits_[block] < most_) ++hits_[block];
      return true;
    }
    while (held() >= capacity_) evict();
    const bool is_hot = has(ghosts_, block) || (cold_.empty() && !is_hot_full(0));
    (is_hot ? hot_ : cold_).push_front(block);
    hits_[block] = 0;
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(ghosts_) > most_ghosts()) ghosts_.pop_back();
  }

 private:
  Count most_ghosts() const { return std::min<Count>(3000, part_of(remembers_, capacity_) + 1); }
  // Before the first eviction there is no limit.
  bool is_hot_full(Count excess) const {
    return has_evicted_ && size(hot_) >= part_of(share_, capacity_) + excess;
  }
  void evict() {
    has_evicted_ = true;
    const std::uint64_t victim = find_victim();
    victims.push_back(victim);
    if (has(cold_, victim)) {
      const bool is_known = has(ghosts_, victim);
      ghosts_.remove(victim);
      while (!is_known && size(ghosts_) >= most_ghosts()) ghosts_.pop_back();
      ghosts_.push_front(victim);
    }
    OfLists::remove(victim);
  }
  std::uint64_t find_victim() {
    if (is_hot_full(1)) return run_hot_hand();
    for (; !cold_.empty(); shift(cold_, hot_)) {
      if (hits_[cold_.back()] == 0) return cold_.back();
      if (is_hot_full(0) && !hot_.empty()) {
        const std::uint64_t victim = run_hot_hand();
        hits_[cold_.back()] = 0;
        shift(cold_, hot_);
        return victim;
      }
      hits_[cold_.back()] = 0;
    }
    return run_hot_hand();
  }
  std::uint64_t run_hot_hand() {
    const std::uint64_t next = hot_.size() > 1 ? *std::next(hot_.rbegin()) : hot_.back();
    const Count taken = (hits_[hot_.back()] + hits_[next]) / 64 + 1;
    const Count most = size(hot_) / 4 + 1;
    std::uint64_t victim = hot_.back();
    Count lowest = hits_[victim] + 1;
    for (Count passed = 0; passed < most && lowest > 0; ++passed) {
      const std::uint64_t block = hot_.back();
      if (hits_[block] < lowest) {
        lowest = hits_[block];
        victim = block;
      }
      hits_[block] = std::max<Count>(0, hits_[block] - taken);
      shift(hot_, hot_);
    }
    return victim;
  }

  double share_, remembers_;
  Count most_;
  List cold_, hot_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> hits_;
  bool has_evicted_ = false;
};

}  // namespace mcsim::naive
