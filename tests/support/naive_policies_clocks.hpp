#pragma once

#include <cmath>
#include <deque>
#include <map>

#include "tests/support/naive_policies.hpp"

// Twins of policies with counts at a hand, and with a window before hits count.
namespace mcsim::naive {

// Smith, 1978, with the limits of PostgreSQL's buffers: the newest in front, the hand at the back.
class GClock : public Fifo {
 public:
  GClock(Count capacity, Count first, Count most) : Fifo(capacity), first_(first), most_(most) {}
  void remove(std::uint64_t block) override {
    list_.remove(block);
    count_.erase(block);
  }

 protected:
  // A new block has no count yet: it is looked up as the first one.
  void hit(std::uint64_t block) override { count_[block] = std::min(most_, count(block) + 1); }
  void evict() override {
    for (; count(list_.back()) > 0; list_.pop_back()) {
      count_[list_.back()] = count(list_.back()) - 1;
      list_.push_front(list_.back());
    }
    count_.erase(list_.back());
    victim(std::prev(list_.end()));
  }

 private:
  Count count(std::uint64_t block) const {
    const auto at = count_.find(block);
    return at == count_.end() ? std::min(first_, most_) : at->second;
  }
  Count first_, most_;
  std::map<std::uint64_t, Count> count_;
};

// Clock2QPlus.c of libCacheSim: until something was evicted, a full small queue sends new blocks to
// the main queue. A hit in the small queue is quick if fewer blocks than the window came after.
class Clock2QPlus : public OfLists {
 public:
  Clock2QPlus(Count capacity, double small, double window, Count promote_at)
      : OfLists(capacity, {&small_, &main_}),
        share_(small),
        window_(window),
        promote_at_(promote_at) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(small_, block)) {
      const auto later = std::count_if(
          came_.begin(), came_.end(), [&](const auto& one) { return one.second > last_of(block); });
      const double window = window_ * static_cast<double>(small_size());
      if (static_cast<double>(later) >= std::ceil(window - 1e-9)) ++hits_[block];
      return true;
    }
    if (has(main_, block)) {
      hits_[block] = 1;
      return true;
    }
    const bool known = has(ghosts_, block);
    ghosts_.remove(block);
    while (held() >= capacity_) evict();
    hits_[block] = 0;
    if (known || (!has_evicted_ && size(small_) >= small_size())) {
      main_.push_front(block);
      return false;
    }
    small_.push_front(block);
    came_.emplace_back(block, ++moment_);
    // More than the small queue is never asked for.
    if (size_of(came_) > 4 * capacity_ + 4) came_.pop_front();
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(ghosts_) > capacity_ * 9 / 10) ghosts_.pop_back();
  }

 private:
  using Arrivals = std::deque<std::pair<std::uint64_t, std::uint64_t>>;

  static Count size_of(const Arrivals& arrivals) { return static_cast<Count>(arrivals.size()); }
  std::uint64_t last_of(std::uint64_t block) const {
    for (auto one = came_.rbegin(); one != came_.rend(); ++one) {
      if (one->first == block) return one->second;
    }
    return 0;
  }
  Count small_size() const { return std::max<Count>(1, part_of(share_, capacity_)); }
  void evict() {
    has_evicted_ = true;
    const bool from_small = size(small_) >= small_size() || main_.empty();
    while (from_small && !small_.empty()) {
      const std::uint64_t oldest = small_.back();
      small_.pop_back();
      if (hits_[oldest] < promote_at_) {
        victims.push_back(oldest);
        ghosts_.push_front(oldest);
        if (size(ghosts_) > capacity_ * 9 / 10) ghosts_.pop_back();
        return;
      }
      main_.push_front(oldest);
      hits_[oldest] = 0;
    }
    while (!from_small) {
      const std::uint64_t oldest = main_.back();
      main_.pop_back();
      if (hits_[oldest] == 0) {
        victims.push_back(oldest);
        return;
      }
      hits_[oldest] = 0;
      main_.push_front(oldest);
    }
  }

  double share_, window_;
  Count promote_at_;
  std::uint64_t moment_ = 0;
  bool has_evicted_ = false;
  List small_, main_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> hits_;
  Arrivals came_;  // blocks that entered the small queue, and when
};

}  // namespace mcsim::naive
