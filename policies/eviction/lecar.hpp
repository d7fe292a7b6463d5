#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/choices.hpp"
#include "core/base/portable_math.hpp"
#include "core/base/share.hpp"
#include "core/base/two_experts.hpp"
#include "core/containers/counted_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// Tie-breaking of the LFU expert among equal counts.
enum class LeCarTies : std::uint8_t {
  kRecency,  // evicts the least recently used
  kNumber,   // evicts the lowest block number; blocks are numbered by first access
};

template <>
struct Choices<LeCarTies> {
  static constexpr std::array names{std::pair{"recency", LeCarTies::kRecency},
                                    std::pair{"number", LeCarTies::kNumber}};
};

struct LeCarBlock {
  std::uint64_t evicted;
  std::uint64_t count;
};

// LeCaR: each victim is chosen by LRU or by LFU, at random by weights. Each of the two has a
// history of its victims. A miss that is found in a history reduces the weight of that expert, the
// more the more recent the eviction. A block that both would evict is not remembered.
//
// As in the authors' code, counts survive an eviction in the histories, and weights stay between
// 0.01 and 0.99. Each history has half the capacity, as in the code published with CACHEUS; the
// code published with LeCaR has the full capacity (`history`). Among equal counts LFU evicts the
// least recently used block; the authors' code evicts the lowest block number (`ties`). Here the
// blocks of a trace are numbered by first access, so `number` is the authors' rule for traces that
// are numbered so. Keys that are not renumbered follow the authors' rule exactly.
//
// For objects of different sizes, the experts evict until the object fits. Histories are limited by
// bytes, and a regret decays with the bytes of accesses: by `discount` over as many as the
// capacity.
//
// O(log n) per access; 53 bytes per slot, two slots per block of the capacity.
class LeCar : public CountedLists<3, LeCarBlock> {
 public:
  struct Params {
    double learning_rate = 0.45;
    double discount = 0.005;
    double history = 0.5;
    LeCarTies ties = LeCarTies::kRecency;
    static constexpr auto fields() {
      return std::tuple{
          Field{"learning_rate", &Params::learning_rate, "learning rate λ of the experts' weights",
                0, 100},
          Field{"discount", &Params::discount,
                "factor by which a regret decays over as many accesses as the capacity has blocks",
                1e-9, 1},
          Field{"history", &Params::history,
                "length of the history of each expert, as a multiple of the capacity", 0},
          Field{
              "ties", &Params::ties,
              "tie-breaking of LFU among equal counts: evict the least recently used block "
              "(recency), or the lowest block number, that is the first to be accessed (number)"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lecar",
      .summary = "Learns from regretted evictions whether to evict by LRU or by LFU.",
      .reference =
          "Vietri, Rodriguez, Martinez, Lyons, Liu, Rangaswami, Zhao, Narasimhan: Driving "
          "cache replacement with ML-based LeCaR, HotStorage 2018"};

  LeCar(const Params& params, const PolicySetup& setup)
      : CountedLists(setup.slots_for(most_slots(params, setup.capacity))),
        params_(params),
        experts_(Random(setup.seed).split(kInfo.name)),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    now_ += static_cast<std::uint64_t>(cache.next_weight());
    Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      lists_.move_to_front(kHeld, slot, cache);
      counts_.update(slot, rank(slot, a.block));
      return true;
    }
    if (slot != kNoSlot) {
      regret(slot);
      lists_.erase(slot, cache);
    }
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
    if (slot == kNoSlot) {
      slot = cache.insert(a.block);
      blocks_[slot].count = 0;
    } else {
      cache.revive(slot);
    }
    lists_.push_front(kHeld, slot, cache);
    counts_.push(slot, rank(slot, a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    lists_.erase(slot, cache);
    counts_.erase(slot);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { lists_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    for (const std::size_t history : {kOfLru, kOfLfu}) {
      while (lists_.weight(history, cache) > most_remembered()) {
        cache.forget_back(lists_, history);
      }
    }
    reserve(cache.slots_for(most_slots(params_, capacity_)));
  }

  bool resident(Slot slot) const { return lists_.list_of(slot) == kHeld; }
  Count size() const { return lists_.size(kHeld); }
  Count capacity() const { return capacity_; }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    if (counts_.size() != size()) {
      return internal_error("lecar: {} blocks, {} with counts", size(), counts_.size());
    }
    return counts_.check();
  }
  auto state() {
    return std::tuple_cat(std::tie(lists_, counts_, blocks_, experts_, now_),
                          std::tuple{ComparedIds{params_.ties == LeCarTies::kNumber}});
  }

 private:
  // Lists, the most recently used or evicted block first.
  static constexpr std::size_t kHeld = 0, kOfLru = 1, kOfLfu = 2;
  static constexpr TwoExperts::Expert kLru = TwoExperts::kFirst, kLfu = TwoExperts::kSecond;

  static Count most_remembered(const Params& params, Count capacity) {
    return floor_share(params.history, capacity);
  }
  static Count most_slots(const Params& params, Count capacity) {
    return capacity + 2 * most_remembered(params, capacity);
  }
  Count most_remembered() const { return most_remembered(params_, capacity_); }

  // Return the rank with one more access.
  CountAndTie rank(Slot slot, std::uint64_t block) {
    const std::uint64_t tie = params_.ties == LeCarTies::kRecency ? now_ : block;
    return {.count = ++blocks_[slot].count, .tie = tie};
  }

  // Punish the expert that evicted this block.
  void regret(Slot slot) {
    const auto since = static_cast<double>(now_ - blocks_[slot].evicted);
    const double halvings =
        -portable_log2(params_.discount) * since / static_cast<double>(capacity_);
    const double regret = halvings < 900 ? portable_exp2(-halvings) : 0;
    experts_.penalize(lists_.list_of(slot) == kOfLru ? kLru : kLfu, params_.learning_rate * regret);
  }

  void evict(auto& cache) {
    const Slot lru = lists_.back(kHeld);
    const Slot lfu = counts_.top();
    const TwoExperts::Expert expert = experts_.choose();
    const Slot victim = expert == kLru ? lru : lfu;
    const std::size_t history = expert == kLru ? kOfLru : kOfLfu;
    counts_.erase(victim);
    lists_.erase(victim, cache);
    const Count weight = cache.weight(victim);
    const Count most = most_remembered();
    if (lru == lfu || weight > most) {
      cache.evict(victim);
      return;
    }
    make_room(
        cache, [&] { return lists_.weight(history, cache) + weight > most; },
        [&] { cache.forget_back(lists_, history); });
    blocks_[victim].evicted = now_;
    lists_.push_front(history, victim, cache);
    cache.evict_to_ghost(victim);
  }

  Params params_;
  TwoExperts experts_;
  std::uint64_t now_ = 0;  // weight of all accesses
  Count capacity_;
};

}  // namespace mcsim
