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

// QDLP.c of libCacheSim: cache_get_base() evicts until there is space; then the CLOCK, which has a
// capacity of its own, may evict once more.
class QdLpFifo : public OfLists {
 public:
  QdLpFifo(Count capacity, double small, double ghosts, Count promote_at)
      : OfLists(capacity, {&fifo_, &main_}),
        share_(small),
        remembers_(ghosts),
        promote_at_(promote_at) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (contains(block)) {
      hits_[block] = std::min<Count>(3, hits_[block] + 1);
      return true;
    }
    const bool known = has(ghosts_, block);
    ghosts_.remove(block);
    while (held() >= capacity_) evict();
    if (known && most_main() > 0) {
      into_main(block);
    } else {
      fifo_.push_front(block);
      hits_[block] = 0;
    }
    return false;
  }
  void on_resize() override {
    while (size(main_) > most_main()) evict_main();
    while (held() > capacity_) evict();
    while (size(ghosts_) > part_of(remembers_, capacity_)) ghosts_.pop_back();
  }

 private:
  Count most_main() const {
    return std::max<Count>(0, capacity_ - std::max<Count>(1, part_of(share_, capacity_)));
  }
  void into_main(std::uint64_t block) {
    if (size(main_) >= most_main()) evict_main();
    main_.push_front(block);
    hits_[block] = 0;
  }
  void evict() {
    if (fifo_.empty()) return evict_main();
    const std::uint64_t oldest = fifo_.back();
    fifo_.pop_back();
    if (hits_[oldest] >= promote_at_ && most_main() > 0) return into_main(oldest);
    victims.push_back(oldest);
    ghosts_.push_front(oldest);
    if (size(ghosts_) > part_of(remembers_, capacity_)) ghosts_.pop_back();
  }
  void evict_main() {
    while (hits_[main_.back()] > 0) {
      --hits_[main_.back()];
      shift(main_, main_);
    }
    out(main_);
  }

  double share_, remembers_;
  Count promote_at_;
  List fifo_, main_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> hits_;
};

// S4FIFO.c of libCacheSim with auto-tune=0. The age of a block is the number of insertions into the
// small FIFO from its own on.
class S4Fifo : public OfLists {
 public:
  S4Fifo(Count capacity, const ParamMap& params)
      : OfLists(capacity, {&small_, &main_}),
        share_(param(params, "small", 0.1)),
        remembers_(param(params, "ghosts", 0.9)),
        skip_(param(params, "skip", 0.0)),
        to_main_(param(params, "promote_at", std::int64_t{2})),
        ghost_to_main_(param(params, "ghost_threshold", std::int64_t{0})) {}

 protected:
  bool on_access(std::uint64_t block, std::uint64_t) override {
    if (has(small_, block)) {
      if (inserted_ - came_[block] >= part_of(skip_, size(small_))) ++freq_[block];
      return true;
    }
    if (has(main_, block)) {
      ++freq_[block];
      return true;
    }
    const bool is_known = ghost_to_main_ <= 0 && has(ghosts_, block);
    if (is_known) ghosts_.remove(block);
    while (held() >= capacity_) evict();
    if (is_known || (!has_evicted_ && size(small_) >= most_small())) {
      main_.push_front(block);
    } else {
      small_.push_front(block);
      came_[block] = inserted_++;
    }
    freq_[block] = 0;
    return false;
  }
  void on_resize() override {
    while (held() > capacity_) evict();
    while (size(ghosts_) > part_of(remembers_, capacity_)) ghosts_.pop_back();
  }

 private:
  Count most_small() const { return std::max<Count>(1, part_of(share_, capacity_)); }
  // libCacheSim compares the main FIFO with its capacity; the cache is full then.
  void evict() {
    has_evicted_ = true;
    size(small_) < most_small() && !main_.empty() ? evict_main() : evict_small();
  }
  void evict_small() {
    while (!small_.empty()) {
      const std::uint64_t oldest = small_.back();
      small_.pop_back();
      if (freq_[oldest] < to_main_) {
        victims.push_back(oldest);
        if (!has(ghosts_, oldest)) ghosts_.push_front(oldest);
        if (size(ghosts_) > part_of(remembers_, capacity_)) ghosts_.pop_back();
        return;
      }
      main_.push_front(oldest);
      freq_[oldest] = 0;
    }
  }
  void evict_main() {
    for (; freq_[main_.back()] > 0; shift(main_, main_)) {
      freq_[main_.back()] = std::min<Count>(3, freq_[main_.back()]) - 1;
    }
    out(main_);
  }

  double share_, remembers_, skip_;
  Count to_main_, ghost_to_main_;
  bool has_evicted_ = false;
  Count inserted_ = 0;
  List small_, main_, ghosts_;  // newest first
  std::map<std::uint64_t, Count> freq_, came_;
};

}  // namespace mcsim::naive
