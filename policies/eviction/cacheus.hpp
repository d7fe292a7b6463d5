#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/base/choices.hpp"
#include "core/base/two_experts.hpp"
#include "core/containers/counted_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

enum class CacheusVariant : std::uint8_t {
  kPaper,
  // As in the authors' simulator. Rates are rounded to three digits before comparisons. The
  // learning rate also stays unchanged if the hit rate did; if the hit rate fell with an unchanged
  // learning rate, it moves by a quarter up or down at random. A hit leaves a block new, and a
  // block that returns from a history has the count with which it left.
  kAuthors,
};

template <>
struct Choices<CacheusVariant> {
  static constexpr std::array names{std::pair{"paper", CacheusVariant::kPaper},
                                    std::pair{"authors", CacheusVariant::kAuthors}};
};

struct CacheusBlock {
  std::uint32_t count;
  bool demoted;  // from S to Q
  bool is_new;   // entered Q and has not been hit
  auto state() { return std::tie(count, demoted, is_new); }
};

// CACHEUS: LeCaR with better experts and without parameters. SR-LRU keeps reused blocks in an LRU
// list S; a list Q holds new blocks and the excess of S, and provides the victims. The sizes of S
// and Q adapt as in ARC, to hits of blocks demoted from S and to misses of new blocks evicted
// without a hit. CR-LFU evicts the most recent block with the lowest count. The learning rate
// climbs with the hit rate, over periods of `capacity` accesses.
//
// As in the authors' code, each history has half the capacity, and blocks that fill the cache at
// first are not new. A learning rate without improvement for ten periods is reset to its initial
// value (the paper draws it at random). A block stops being new when it is hit; one that returns
// from a history has its count + 1.
//
// For objects of different sizes, S, Q and the histories are in bytes, and the experts evict until
// the object fits. The sizes of S and Q move by the step for blocks times the size of the object,
// and each keeps room for it. A period is accesses to as many bytes as the capacity. The initial
// learning rate is that for the number of objects that fit, with the mean size of the first period;
// nothing is evicted in that period.
//
// O(log n) per access; 45 bytes per slot, two slots per block of the capacity.
class Cacheus : public CountedLists<4, CacheusBlock> {
 public:
  struct Params {
    CacheusVariant variant = CacheusVariant::kPaper;
    static constexpr auto fields() {
      return std::tuple{Field{"variant", &Params::variant,
                              "algorithm: as in the paper, or as in the authors' simulator"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "cacheus",
      .summary = "Learns to follow a scan-resistant (SR-LRU) or a churn-resistant (CR-LFU) expert.",
      .reference =
          "Rodriguez, Yusuf, Lyons, Paz, Rangaswami, Liu, Zhao, Narasimhan: Learning cache "
          "replacement with CACHEUS, FAST 2021"};

  Cacheus(const Params& params, const PolicySetup& setup)
      : CountedLists(setup.slots_for(2 * setup.capacity)),
        params_(params),
        experts_(Random(setup.seed).split(kInfo.name)) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    ++now_;
    learn(cache);
    const Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      ++hits_;
      hit(slot, cache);
      return true;
    }
    if (slot != kNoSlot) {
      return_from_history(slot, cache);
    } else {
      bring_in(a.block, cache);
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    clear_demoted(slot);
    lists_.erase(slot, cache);
    counts_.erase(slot);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { lists_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (lists_.weight(kReused, cache) > most_reused_) demote(cache);
    while (size() > capacity_) evict(cache);
    for (const std::size_t history : {kOfLru, kOfLfu}) {
      while (lists_.weight(history, cache) > most_remembered_) forget_oldest(history, cache);
    }
    reserve(cache.slots_for(2 * capacity_));
  }

  bool resident(Slot slot) const { return lists_.list_of(slot) <= kQueue; }
  Count size() const { return lists_.size(kReused) + lists_.size(kQueue); }
  Count capacity() const { return capacity_; }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    Count demoted = 0;
    Count unused = 0;
    for (Slot slot = lists_.front(kQueue); slot != kNoSlot; slot = lists_.older(slot)) {
      demoted += blocks_[slot].demoted ? 1 : 0;
    }
    for (Slot slot = lists_.front(kOfLru); slot != kNoSlot; slot = lists_.older(slot)) {
      unused += blocks_[slot].is_new ? 1 : 0;
    }
    if (demoted != demoted_ || unused != unused_ || counts_.size() != size()) {
      return internal_error("cacheus: {} demoted, not {}; {} unused, not {}; {} counts of {}",
                            demoted, demoted_, unused, unused_, counts_.size(), size());
    }
    return counts_.check();
  }
  auto state() {
    return std::tie(lists_, counts_, blocks_, experts_, now_, most_reused_, most_queued_, demoted_,
                    unused_, rate_, last_rate_, last_hit_rate_, accesses_, hits_, idle_periods_,
                    falls_);
  }

 private:
  // Lists S, Q and the histories, the most recent first.
  static constexpr std::size_t kReused = 0, kQueue = 1, kOfLru = 2, kOfLfu = 3;
  static constexpr TwoExperts::Expert kLru = TwoExperts::kFirst, kLfu = TwoExperts::kSecond;
  static constexpr double kLeastRate = 0.001;
  static constexpr int kPatience = 10;  // periods

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    most_remembered_ = capacity / 2;
    set_most_queued(std::max<Count>(1, std::llround(0.01 * static_cast<double>(capacity))));
    start_with(static_cast<double>(std::max<Count>(1, capacity)));
    last_rate_ = last_hit_rate_ = 0;
    accesses_ = hits_ = 0;
    idle_periods_ = falls_ = 0;
  }
  // Set the learning rate for the number of blocks that fit.
  void start_with(double blocks) {
    first_rate_ = std::sqrt(2 * kLn2 / blocks);
    rate_ = first_rate_;
  }
  void set_most_queued(Count blocks) {
    most_reused_ = std::max<Count>(0, capacity_ - blocks);
    most_queued_ = capacity_ - most_reused_;
  }

  // --- Changes of a block ---------------------------------------------------------

  void hit(Slot slot, const auto& cache) {
    CacheusBlock& block = blocks_[slot];
    counts_.update(slot, rank(++block.count));
    if (is_paper()) block.is_new = false;
    if (lists_.list_of(slot) == kReused) {
      lists_.move_to_front(kReused, slot, cache);
      return;
    }
    if (block.demoted) {
      const Count more = step(unused_, demoted_, cache);
      set_most_queued(capacity_ - std::min(largest_part(cache), most_reused_ + more));
      clear_demoted(slot);
    }
    lists_.erase(slot, cache);
    limit_reused(most_reused_ - cache.next_weight(), cache);
    lists_.push_front(kReused, slot, cache);
  }

  void return_from_history(Slot slot, auto& cache) {
    const std::size_t history = lists_.list_of(slot);
    CacheusBlock& block = blocks_[slot];
    lists_.erase(slot, cache);
    if (history == kOfLru && block.is_new) {
      --unused_;
      const Count more = step(demoted_, unused_, cache);
      set_most_queued(std::min(largest_part(cache), most_queued_ + more));
    }
    experts_.penalize(history == kOfLru ? kLru : kLfu, rate_);
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
    cache.revive(slot);
    block = {.count = block.count + (is_paper() ? 1 : 0), .demoted = false, .is_new = false};
    enter(kReused, slot, cache);
    limit_reused(most_reused_ - 1, cache);
  }

  void bring_in(auto id, auto& cache) {
    const Count weight = cache.next_weight();
    const bool fills_reused =
        lists_.weight(kReused, cache) + weight <= most_reused_ && lists_.empty(kQueue);
    const bool fills_queue =
        !cache.is_full(*this) && lists_.weight(kQueue, cache) + weight <= most_queued_;
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
    const Slot slot = cache.insert(id);
    blocks_[slot] = {.count = 1, .demoted = false, .is_new = !fills_reused && !fills_queue};
    enter(fills_reused ? kReused : kQueue, slot, cache);
    if (blocks_[slot].is_new) limit_reused(most_reused_ - 1, cache);
  }

  void enter(std::size_t list, Slot slot, const auto& cache) {
    lists_.push_front(list, slot, cache);
    counts_.push(slot, rank(blocks_[slot].count));
  }
  // Ties of counts go to the most recent access.
  CountAndTie rank(std::uint32_t count) const { return {.count = count, .tie = ~now_}; }

  // The largest size of S or Q: the other has room for the accessed block.
  Count largest_part(const auto& cache) const { return capacity_ - cache.next_weight(); }
  // Return the change of the sizes of S and Q.
  static Count step(Count a, Count b, const auto& cache) {
    const double ratio = static_cast<double>(a) / static_cast<double>(std::max<Count>(1, b));
    return std::max<Count>(1, std::llround(ratio)) * cache.next_weight();
  }
  void limit_reused(Count most, const auto& cache) {
    while (lists_.weight(kReused, cache) > most && !lists_.empty(kReused)) demote(cache);
  }
  void demote(const auto& cache) {
    const Slot slot = lists_.back(kReused);
    lists_.move_to_front(kQueue, slot, cache);
    blocks_[slot].demoted = true;
    ++demoted_;
  }
  void clear_demoted(Slot slot) {
    if (!blocks_[slot].demoted) return;
    blocks_[slot].demoted = false;
    --demoted_;
  }

  void evict(auto& cache) {
    const Slot lru = lists_.back(lists_.empty(kQueue) ? kReused : kQueue);
    const Slot lfu = counts_.top();
    const TwoExperts::Expert expert = experts_.choose();
    const Slot victim = expert == kLru ? lru : lfu;
    const std::size_t history = expert == kLru ? kOfLru : kOfLfu;
    clear_demoted(victim);
    lists_.erase(victim, cache);
    counts_.erase(victim);
    const Count weight = cache.weight(victim);
    if (lru == lfu || weight > most_remembered_) {
      cache.evict(victim);
      return;
    }
    while (lists_.weight(history, cache) + weight > most_remembered_) {
      forget_oldest(history, cache);
    }
    lists_.push_front(history, victim, cache);
    if (history == kOfLru && blocks_[victim].is_new) ++unused_;
    cache.evict_to_ghost(victim);
  }
  void forget_oldest(std::size_t history, auto& cache) {
    const Slot slot = lists_.pop_back(history, cache);
    if (history == kOfLru && blocks_[slot].is_new) --unused_;
    cache.forget(slot);
  }

  // --- The learning rate ---------------------------------------------------------

  // A period ends before every access whose number is a multiple of the capacity. The learning rate
  // continues in its direction if the hit rate followed its last change, else it turns.
  template <class View>
  void learn(const View& cache) {
    ++accesses_;
    if constexpr (View::kWeighs) {
      if ((bytes_ += cache.next_weight()) < capacity_) return;
      if (!knows_objects_)
        start_with(static_cast<double>(capacity_) * static_cast<double>(accesses_) /
                   static_cast<double>(bytes_));
      knows_objects_ = true;
      bytes_ = 0;
    } else if (accesses_ < capacity_) {
      return;
    }
    const double hit_rate = compared(static_cast<double>(hits_) / static_cast<double>(accesses_));
    const double change = compared(hit_rate - last_hit_rate_);
    const double step = compared(rate_) - compared(last_rate_);
    last_hit_rate_ = hit_rate;
    last_rate_ = rate_;
    accesses_ = hits_ = 0;
    if (is_paper() ? step != 0 : step * change != 0) {
      const double size = std::abs(rate_ * step);
      set_rate(step * change > 0 ? rate_ + size : rate_ - size);
      idle_periods_ = falls_ = 0;
    } else if (is_paper()) {
      if ((hit_rate == 0 || change <= 0) && ++idle_periods_ == kPatience) begin_anew();
    } else if (change <= 0) {
      go_anywhere(hit_rate, change);
    }
  }
  double compared(double rate) const { return is_paper() ? rate : round_to_thousandths(rate); }
  void set_rate(double rate) { rate_ = std::clamp(rate, kLeastRate, 1.0); }
  void begin_anew() {
    set_rate(first_rate_);
    idle_periods_ = 0;
  }

  // Change the rate as the authors do if there is no slope to follow.
  void go_anywhere(double hit_rate, double change) {
    const bool falls = change < 0;
    if (falls || hit_rate == 0) ++idle_periods_;
    if (falls) ++falls_;
    if (idle_periods_ >= kPatience) {
      begin_anew();
    } else if (falls && falls_ >= kPatience) {
      set_rate(first_rate_);
      falls_ = 0;
    } else if (falls) {
      move_at_random();
    }
  }
  void move_at_random() {
    if (rate_ >= 1) {
      rate_ = 0.9;
    } else if (rate_ <= kLeastRate) {
      rate_ = 0.005;
    } else {
      set_rate(experts_.flip_coin() ? rate_ * 1.25 : rate_ * 0.75);
    }
  }

  // Round decimals by the exact value, ties to even.
  static double round_to_thousandths(double x) {
    const double below = std::floor(x * 1000);
    double rounded = below;
    // The sign of an exact difference.
    const double above_middle = std::fma(x, 1000, -(below + 0.5));
    if (above_middle > 0 || (above_middle == 0 && std::fmod(below, 2) != 0)) rounded += 1;
    return rounded / 1000;
  }

  bool is_paper() const { return params_.variant == CacheusVariant::kPaper; }

  static constexpr double kLn2 = 0x1.62e42fefa39efp-1;

  Params params_;
  TwoExperts experts_;
  std::uint64_t now_ = 0;
  Count capacity_ = 0;
  Count most_reused_ = 0;
  Count most_queued_ = 0;
  Count most_remembered_ = 0;  // per history
  Count demoted_ = 0;          // blocks in Q
  Count unused_ = 0;           // new blocks in the history of SR-LRU
  double rate_ = 0;
  double first_rate_ = 0;
  double last_rate_ = 0;
  double last_hit_rate_ = 0;
  Count accesses_ = 0;  // of this period
  Count bytes_ = 0;     // of these, of objects of different sizes
  bool knows_objects_ = false;
  Count hits_ = 0;
  int idle_periods_ = 0;
  int falls_ = 0;  // of the hit rate, while the learning rate stayed
};

}  // namespace mcsim
