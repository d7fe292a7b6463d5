#pragma once

#include "core/base/choices.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// How ARC's target moves when one ghost list is longer than the other.
enum class ArcStep : std::uint8_t {
  kReal,     // by the ratio of their lengths, as published
  kInteger,  // by the ratio's whole part, as Caffeine's simulator has it
};

template <>
struct Choices<ArcStep> {
  static constexpr std::array names{std::pair{"real", ArcStep::kReal},
                                    std::pair{"integer", ArcStep::kInteger}};
};

// Adaptive replacement cache: T1 has blocks seen once of late, T2 those seen again;
// B1 and B2 remember what left either. A hit in B1 says that T1 is too small, one in
// B2 that T2 is, and the target p of T1 follows.
//
// O(1) an access; 9 bytes a block held or remembered, twice the capacity at most.
class Arc {
 public:
  struct Params {
    ArcStep step = ArcStep::kReal;

    static constexpr auto fields() {
      return std::tuple{Field{"step", &Params::step, "how the target moves"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "arc",
      .summary = "Balances recency and frequency by what it evicted too early.",
      .reference = "Megiddo, Modha: ARC: a self-tuning, low overhead replacement cache, FAST 2003"};

  Arc(const Params& params, const PolicySetup& setup)
      : lists_(setup.slots_for(2 * setup.capacity)), step_(params.step), c_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    const Slot x = cache.find(a.block);
    if (x == kNoSlot) {
      miss(cache);
      lists_.push_front(kT1, cache.insert(a.block));
      return false;
    }
    const auto list = lists_.list_of(x);
    if (list == kB1) {
      p_ = std::min(static_cast<double>(c_), p_ + step(kB2, kB1));
      replace(false, cache);
    } else if (list == kB2) {
      p_ = std::max(0.0, p_ - step(kB1, kB2));
      replace(true, cache);
    }
    lists_.move_to_front(kT2, x);
    return list == kT1 || list == kT2;
  }

  void remove(Slot slot, auto& cache) {
    lists_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    c_ = capacity;
    p_ = std::min(p_, static_cast<double>(c_));
    while (size() > c_) demote(false, cache);
    while (l1() > c_) cache.forget_back(lists_, kB1);
    while (l1() + l2() > 2 * c_) cache.forget_back(lists_, kB2);
    lists_.reserve(cache.slots_for(2 * c_));
  }

  bool resident(Slot slot) const { return lists_.list_of(slot) <= kT2; }
  Count size() const { return lists_.size(kT1) + lists_.size(kT2); }
  Count capacity() const { return c_; }
  std::size_t slots() const { return lists_.slots(); }
  void prefetch(Slot slot) const { lists_.prefetch(slot); }
  absl::Status check() const {
    if (l1() > c_ || l1() + l2() > 2 * c_ || p_ < 0 || p_ > static_cast<double>(c_)) {
      return internal_error("arc: L1 {}, L2 {}, p {} at c {}", l1(), l2(), p_, c_);
    }
    return lists_.check();
  }
  std::size_t bytes() const { return lists_.bytes(); }

 private:
  enum List { kT1, kT2, kB1, kB2 };

  Count l1() const { return lists_.size(kT1) + lists_.size(kB1); }
  Count l2() const { return lists_.size(kT2) + lists_.size(kB2); }

  double step(List longer, List hit) const {
    const Count whole = lists_.size(longer) / lists_.size(hit);
    if (step_ == ArcStep::kInteger) return static_cast<double>(std::max<Count>(1, whole));
    return std::max(
        1.0, static_cast<double>(lists_.size(longer)) / static_cast<double>(lists_.size(hit)));
  }

  // Case IV: makes room in the directory and, if it is full, in the cache.
  void miss(auto& cache) {
    if (l1() == c_) {
      if (lists_.empty(kB1)) {
        cache.evict_back(lists_, kT1);
        return;
      }
      cache.forget_back(lists_, kB1);
    } else if (l1() + l2() == 2 * c_) {
      cache.forget_back(lists_, kB2);
    }
    replace(false, cache);
  }

  // The published cases imply a full cache; capacities that changed do not.
  void replace(bool hit_in_b2, auto& cache) {
    if (size() == c_) demote(hit_in_b2, cache);
  }

  void demote(bool hit_in_b2, auto& cache) {
    const auto t1 = static_cast<double>(lists_.size(kT1));
    const bool from_t1 = t1 >= 1 && (t1 > p_ || (hit_in_b2 && t1 == p_) || lists_.empty(kT2));
    const Slot victim = lists_.back(from_t1 ? kT1 : kT2);
    cache.evict_to_ghost(victim);
    lists_.move_to_front(from_t1 ? kB1 : kB2, victim);
  }

  SlotLists<4> lists_;
  ArcStep step_;
  Count c_;
  double p_ = 0;
};

}  // namespace mcsim
