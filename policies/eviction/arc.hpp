#pragma once

#include <tuple>

#include "core/base/choices.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// How ARC's target p moves when one ghost list is longer than the other.
enum class ArcStep : std::uint8_t {
  kReal,     // by the ratio of their lengths, as published
  kInteger,  // by the integer part of the ratio, as in Caffeine's simulator
};

template <>
struct Choices<ArcStep> {
  static constexpr std::array names{std::pair{"real", ArcStep::kReal},
                                    std::pair{"integer", ArcStep::kInteger}};
};

enum class ArcGhosts : std::uint8_t {
  kPaper,  // B1 and T1 have at most as many blocks as the cache, all lists twice as many
  // As in golang-lru: at a miss of a block without a ghost, B1 loses a block if it is longer than
  // the capacity less p, and B2 if it is longer than p. Each has at most as many as the cache.
  kGolangLru,
};

template <>
struct Choices<ArcGhosts> {
  static constexpr std::array names{std::pair{"paper", ArcGhosts::kPaper},
                                    std::pair{"golang-lru", ArcGhosts::kGolangLru}};
};

// Adaptive replacement cache: T1 holds blocks seen once recently, T2 blocks seen at least twice.
// The ghost lists B1 and B2 remember the victims of T1 and T2. A hit in B1 means that T1 is too
// small, a hit in B2 that T2 is; the target size p of T1 adapts.
//
// For objects of different sizes, the lists and p are in bytes. A ghost hit moves p by the size of
// the object times the step for blocks. A new object drops the oldest of B1 until it fits beside T1
// and B1, and leaves the oldest of T1 without a ghost if B1 becomes empty. The oldest of B2 is
// dropped while an inserted object does not fit beside all lists in twice the capacity.
//
// O(1) per access; 9 bytes per block held or remembered, at most twice the capacity, or three times
// with the ghosts of golang-lru.
class Arc : public SlotPolicyBase<WeighedLists<4>> {
 public:
  struct Params {
    ArcStep step = ArcStep::kReal;
    ArcGhosts ghosts = ArcGhosts::kPaper;

    static constexpr auto fields() {
      return std::tuple{Field{"step", &Params::step,
                              "step of the target size of T1: the ratio of the ghost lists' "
                              "lengths (real, as published), or its integer part (integer)"},
                        Field{"ghosts", &Params::ghosts,
                              "limits of the ghost lists: as in the paper, or as in golang-lru, "
                              "where they follow the target size"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "arc",
      .summary =
          "Balances recency (T1) and frequency (T2) by hits in ghost lists of recent victims.",
      .reference = "Megiddo, Modha: ARC: a self-tuning, low overhead replacement cache, FAST 2003"};

  Arc(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup, most_blocks(params.ghosts, setup.capacity)),
        step_(params.step),
        ghosts_(params.ghosts) {}

  template <class View>
  bool access(const auto& a, View& cache) {
    const Slot x = cache.find(a.block);
    if (x == kNoSlot) {
      if (is_paper()) {
        limit_l1(cache);
        limit_l2(cache);
        replace(false, cache);
      } else {
        replace(false, cache);
        trim_ghosts(cache);
      }
      blocks_.push_front(kT1, cache.insert(a.block), cache);
      return false;
    }
    const auto list = blocks_.list_of(x);
    if (list == kB1) {
      p_ = std::min(static_cast<double>(capacity_), p_ + step(kB2, kB1, cache));
    } else if (list == kB2) {
      p_ = std::max(0.0, p_ - step(kB1, kB2, cache));
    }
    if (list > kT2) {
      if constexpr (View::kWeighs) {
        blocks_.erase(x, cache);
        replace(list == kB2, cache);
        if (is_paper()) {
          limit_l2(cache);
        } else {
          limit_ghosts(kNoSlot, cache);
        }
        cache.revive(x);
        blocks_.push_front(kT2, x, cache);
        return false;
      }
      replace(list == kB2, cache);
      if (!is_paper()) limit_ghosts(x, cache);
    }
    blocks_.move_to_front(kT2, x, cache);
    return list <= kT2;
  }

  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    p_ = std::min(p_, static_cast<double>(capacity_));
    while (size() > capacity_) demote(false, cache);
    if (is_paper()) {
      while (l1(cache) > capacity_) cache.forget_back(blocks_, kB1);
      while (l1(cache) + l2(cache) > 2 * capacity_) cache.forget_back(blocks_, kB2);
    } else {
      limit_ghosts(kNoSlot, cache);
    }
    blocks_.reserve(cache.slots_for(most_blocks(ghosts_, capacity_)));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) <= kT2; }
  Count size() const { return blocks_.size(kT1) + blocks_.size(kT2); }
  absl::Status check() const {
    const Count l1 = blocks_.size(kT1) + blocks_.size(kB1);
    const Count l2 = blocks_.size(kT2) + blocks_.size(kB2);
    const Count longest = std::max(blocks_.size(kB1), blocks_.size(kB2));
    const bool has_too_many = is_paper() ? l1 > capacity_ || l1 + l2 > 2 * capacity_
                                         : size() > capacity_ || longest > capacity_;
    if (has_too_many || p_ < 0 || p_ > static_cast<double>(capacity_)) {
      return internal_error("arc: L1 {}, L2 {}, p {} at c {}", l1, l2, p_, capacity_);
    }
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_, p_); }

 private:
  enum List { kT1, kT2, kB1, kB2 };

  static Count most_blocks(ArcGhosts ghosts, Count capacity) {
    return (ghosts == ArcGhosts::kPaper ? 2 : 3) * capacity;
  }
  bool is_paper() const { return ghosts_ == ArcGhosts::kPaper; }

  Count l1(const auto& cache) const {
    return blocks_.weight(kT1, cache) + blocks_.weight(kB1, cache);
  }
  Count l2(const auto& cache) const {
    return blocks_.weight(kT2, cache) + blocks_.weight(kB2, cache);
  }

  double step(List longer, List hit, const auto& cache) const {
    const Count other = blocks_.weight(longer, cache);
    const Count own = blocks_.weight(hit, cache);
    const double ratio = step_ == ArcStep::kInteger
                             ? static_cast<double>(other / own)
                             : static_cast<double>(other) / static_cast<double>(own);
    return static_cast<double>(cache.next_weight()) * std::max(1.0, ratio);
  }

  // Case IV A of the paper: make room in the directory for a new block of T1.
  void limit_l1(auto& cache) {
    make_room(
        cache, [&] { return l1(cache) + cache.next_weight() > capacity_; },
        [&] {
          if (blocks_.empty(kB1)) {
            cache.evict_back(blocks_, kT1);
          } else {
            cache.forget_back(blocks_, kB1);
          }
        });
  }
  // Case IV B: the same for both lists.
  void limit_l2(auto& cache) {
    make_room(
        cache,
        [&] {
          const Count all = l1(cache) + l2(cache) + cache.next_weight();
          return all > 2 * capacity_ && !blocks_.empty(kB2);
        },
        [&] { cache.forget_back(blocks_, kB2); });
  }

  // The rules of golang-lru. Drop the oldest ghosts above the capacity; `x` leaves on its own.
  void limit_ghosts(Slot x, auto& cache) {
    for (const List list : {kB1, kB2}) {
      while (blocks_.weight(list, cache) > capacity_ && blocks_.back(list) != x) {
        cache.forget_back(blocks_, list);
      }
    }
  }
  // At a miss, drop one ghost of a list that is too long for the target.
  void trim_ghosts(auto& cache) {
    limit_ghosts(kNoSlot, cache);
    const auto c = static_cast<double>(capacity_);
    const auto weight = [&](List list) { return static_cast<double>(blocks_.weight(list, cache)); };
    if (weight(kB1) > c - p_) cache.forget_back(blocks_, kB1);
    if (weight(kB2) > p_) cache.forget_back(blocks_, kB2);
  }

  // Demote until the accessed block fits.
  void replace(bool hit_in_b2, auto& cache) {
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { demote(hit_in_b2, cache); });
  }

  void demote(bool hit_in_b2, auto& cache) {
    const auto t1 = static_cast<double>(blocks_.weight(kT1, cache));
    const bool from_t1 = t1 >= 1 && (t1 > p_ || (hit_in_b2 && t1 == p_) || blocks_.empty(kT2));
    const Slot victim = blocks_.back(from_t1 ? kT1 : kT2);
    cache.evict_to_ghost(victim);
    blocks_.move_to_front(from_t1 ? kB1 : kB2, victim, cache);
  }

  ArcStep step_;
  ArcGhosts ghosts_;
  double p_ = 0;
};

}  // namespace mcsim
