#pragma once

#include <tuple>

#include "core/base/choices.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

enum class TwoQVariant : std::uint8_t {
  kPaper,
  // As in golang-lru: a hit in A1in moves the block to Am. A new block takes the place of one in
  // A1in if A1in has its share or more, a remembered one only if A1in has more. An oldest ghost is
  // dropped for a victim before the accessed ghost leaves A1out. The share of A1in may be 0.
  kGolangLru,
};

template <>
struct Choices<TwoQVariant> {
  static constexpr std::array names{std::pair{"paper", TwoQVariant::kPaper},
                                    std::pair{"golang-lru", TwoQVariant::kGolangLru}};
};

// 2Q, the full version: new blocks pass through a FIFO, A1in. Its victims are remembered in A1out,
// and only a block that is accessed while remembered enters the main LRU list, Am. Hits in A1in
// change nothing: they are considered correlated.
//
// O(1) per access; 9 bytes per block held or remembered.
class TwoQ : public SlotPolicyBase<WeighedLists<3>> {
 public:
  struct Params {
    double kin = 0.25;
    double kout = 0.5;
    TwoQVariant variant = TwoQVariant::kPaper;

    static constexpr auto fields() {
      return std::tuple{
          Field{"kin", &Params::kin, "maximum share of the capacity for A1in", 0, 1},
          Field{"kout", &Params::kout,
                "number of blocks remembered in A1out, as a multiple of the capacity", 0, 100},
          Field{
              "variant", &Params::variant,
              "algorithm: as in the paper, or as in golang-lru, where a hit in A1in moves a block "
              "to the LRU list"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "2q",
      .summary = "Filters new blocks in a FIFO; blocks accessed again after it enter an LRU list.",
      .reference =
          "Johnson, Shasha: 2Q: a low overhead high performance buffer management "
          "replacement algorithm, VLDB 1994"};

  TwoQ(const Params& params, const PolicySetup& setup) : SlotPolicyBase(setup, 0), params_(params) {
    set_capacity(setup.capacity);
    blocks_.reserve(setup.slots_for(capacity_ + kout_));
  }

  bool access(const auto& a, auto& cache) {
    const Slot slot = cache.find(a.block);
    if (slot == kNoSlot) {
      reclaim(false, cache);
      blocks_.push_front(kA1in, cache.insert(a.block), cache);
      return false;
    }
    switch (blocks_.list_of(slot)) {
      case kAm:
        blocks_.move_to_front(kAm, slot, cache);
        return true;
      case kA1in:
        if (!is_paper()) blocks_.move_to_front(kAm, slot, cache);
        return true;
      default:
        return_ghost(slot, cache);
        return false;
    }
  }

  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) evict(false, cache);
    while (blocks_.weight(kA1out, cache) > kout_) cache.forget_back(blocks_, kA1out);
    blocks_.reserve(cache.slots_for(capacity_ + kout_));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kA1out; }
  Count size() const { return blocks_.size(kA1in) + blocks_.size(kAm); }
  absl::Status check() const {
    if (blocks_.size(kA1out) > kout_) return internal_error("2q: too many remembered");
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_); }

 private:
  enum Queue { kA1in, kAm, kA1out };

  bool is_paper() const { return params_.variant == TwoQVariant::kPaper; }

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    kin_ = is_paper() ? share_of(params_.kin, capacity) : floor_share(params_.kin, capacity);
    kout_ = share_of(params_.kout, capacity);
  }

  // Move an accessed ghost to Am.
  template <class View>
  void return_ghost(Slot slot, View& cache) {
    // Whether it leaves A1out before another ghost replaces it.
    const bool first = is_paper() || View::kWeighs || blocks_.back(kA1out) == slot;
    if (first) blocks_.erase(slot, cache);
    reclaim(true, cache);
    if (!first) blocks_.erase(slot, cache);
    cache.revive(slot);
    blocks_.push_front(kAm, slot, cache);
  }

  // Free space for the accessed block.
  void reclaim(bool for_ghost, auto& cache) {
    while (cache.is_full(*this)) evict(for_ghost, cache);
  }

  bool evicts_from_am(bool for_ghost, const auto& cache) const {
    const Count weight = blocks_.weight(kA1in, cache);
    if (is_paper() || for_ghost) return weight <= kin_ && !blocks_.empty(kAm);
    return (weight < kin_ || weight == 0) && !blocks_.empty(kAm);
  }
  void evict(bool for_ghost, auto& cache) {
    if (evicts_from_am(for_ghost, cache)) {
      cache.evict_back(blocks_, kAm);
      return;
    }
    const Slot victim = blocks_.back(kA1in);
    const Count weight = cache.weight(victim);
    if (weight > kout_) {
      cache.evict_back(blocks_, kA1in);
      return;
    }
    while (blocks_.weight(kA1out, cache) + weight > kout_) cache.forget_back(blocks_, kA1out);
    cache.evict_to_ghost(victim);
    blocks_.move_to_front(kA1out, victim, cache);
  }

  Params params_;
  Count kin_ = 0;
  Count kout_ = 0;
};

}  // namespace mcsim
