#pragma once

#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// 2Q, the full version: newcomers go through a FIFO, A1in. Those that leave it are
// remembered in A1out, and only a block that is accessed while remembered enters the
// main LRU list, Am. Hits in A1in change nothing: they are taken for correlated.
//
// O(1) an access; 9 bytes a block held or remembered.
class TwoQ {
 public:
  struct Params {
    double kin = 0.25;
    double kout = 0.5;

    static constexpr auto fields() {
      return std::tuple{
          Field{"kin", &Params::kin, "share of the capacity that A1in may keep", 0, 1},
          Field{"kout", &Params::kout, "blocks remembered in A1out, by the capacity", 0, 100}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "2q",
      .summary = "A FIFO for newcomers, LRU for blocks accessed again after it.",
      .reference =
          "Johnson, Shasha: 2Q: a low overhead high performance buffer management "
          "replacement algorithm, VLDB 1994"};

  TwoQ(const Params& params, const PolicySetup& setup) : queues_(0), params_(params) {
    set_capacity(setup.capacity);
    queues_.reserve(setup.slots_for(capacity_ + kout_));
  }

  bool access(const auto& a, auto& cache) {
    const Slot slot = cache.find(a.block);
    if (slot == kNoSlot) {
      reclaim(cache);
      queues_.push_front(kA1in, cache.insert(a.block));
      return false;
    }
    switch (queues_.list_of(slot)) {
      case kAm:
        queues_.move_to_front(kAm, slot);
        return true;
      case kA1in:
        return true;
      default:
        queues_.erase(slot);  // before others push it out of A1out
        reclaim(cache);
        queues_.push_front(kAm, slot);
        return false;
    }
  }

  void remove(Slot slot, auto& cache) {
    queues_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) evict(cache);
    while (queues_.size(kA1out) > kout_) cache.forget_back(queues_, kA1out);
    queues_.reserve(cache.slots_for(capacity_ + kout_));
  }

  bool resident(Slot slot) const { return queues_.list_of(slot) != kA1out; }
  Count size() const { return queues_.size(kA1in) + queues_.size(kAm); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return queues_.slots(); }
  void prefetch(Slot slot) const { queues_.prefetch(slot); }
  absl::Status check() const {
    if (queues_.size(kA1out) > kout_) return internal_error("2q: too many remembered");
    return queues_.check();
  }
  std::size_t bytes() const { return queues_.bytes(); }

 private:
  enum Queue { kA1in, kAm, kA1out };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    kin_ = share_of(params_.kin, capacity);
    kout_ = share_of(params_.kout, capacity);
  }

  // Makes room for one block.
  void reclaim(auto& cache) {
    if (size() == capacity_) evict(cache);
  }

  void evict(auto& cache) {
    if (queues_.size(kA1in) <= kin_ && !queues_.empty(kAm)) {
      cache.evict_back(queues_, kAm);
      return;
    }
    if (queues_.size(kA1out) == kout_) cache.forget_back(queues_, kA1out);
    const Slot victim = queues_.back(kA1in);
    cache.evict_to_ghost(victim);
    queues_.move_to_front(kA1out, victim);
  }

  SlotLists<3> queues_;
  Params params_;
  Count capacity_ = 0;
  Count kin_ = 0;
  Count kout_ = 0;
};

}  // namespace mcsim
