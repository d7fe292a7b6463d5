#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// W-TinyLFU: blocks enter a small LRU window. A block that leaves the window competes with the
// victim of the main part, a segmented LRU: the one accessed more often stays, by a sketch of all
// recent accesses with counts that are halved as they age.
//
// Variants: doorkeeper (a Bloom filter that keeps blocks accessed once out of the sketch),
// conservative (only the smallest counters of a block are incremented, as in the paper; Caffeine
// increments all), jitter (as in Caffeine, one in 128 losers with count 6 or more stays) and climb.
// With climb, the window's share follows the hit rate in steps of 1/16 of the cache that decay by
// 0.98 and restart when the hit rate changes by 0.05. By default the first step enlarges the
// window, as in Caffeine's simulator. In the Caffeine library it reduces the window (step=-0.0625),
// and accesses count once the cache is half full (start=0.5). foyer admits ties, and its sketch has
// one size for all caches (admit_ties, sketch_blocks). As in Caffeine, an access with all
// counters at their limit does not count towards halving.
//
// For objects of different sizes, the lists and `sample` are in bytes: counts are halved after
// accesses to so many bytes. The sketch has counters for all objects of the trace, if there are
// fewer than bytes. The admission is the variant IV (implicit victims) of Einziger, Eytan,
// Friedman, Manes: Lightweight robust size aware cache management, ACM Transactions on Storage
// 18(3), 2022, as in Caffeine: a candidate competes with one victim only. Objects leave the window
// and compete until the new one fits there; if the cache is still full then, victims of the main
// part leave without a competition. As in Caffeine, an object that is larger than the window is a
// candidate itself; if it loses, it does not enter.
//
// O(1) per access, amortised; 9 bytes per block of the capacity, the sketch 8 to 16.
class WTinyLfu : public SlotPolicyBase<WeighedLists<3>> {
 public:
  struct Params {
    double window = 0.01;
    double protected_share = 0.8;
    double sample = 10;
    double counters = 16;
    bool doorkeeper = false;
    bool conservative = false;
    bool jitter = false;
    bool climb = false;
    double step = 0.0625;
    double start = 0;
    Count sketch_blocks = 0;
    bool admit_ties = false;
    static constexpr auto fields() {
      return std::tuple{
          Field{"window", &Params::window,
                "share of the cache for new blocks; its initial share with `climb`", 0, 1},
          Field{"protected_share", &Params::protected_share,
                "share of the main part for blocks accessed again", 0, 1},
          Field{"sample", &Params::sample,
                "number of accesses after which counts are halved, as a multiple of the capacity",
                1},
          Field{"counters", &Params::counters,
                "number of counters of the sketch per block of the capacity", 1},
          Field{"doorkeeper", &Params::doorkeeper,
                "whether the sketch counts a block only from its second access on"},
          Field{"conservative", &Params::conservative,
                "whether an access increments only the smallest counters of a block"},
          Field{"jitter", &Params::jitter,
                "whether one in 128 losing blocks with count 6 or more is admitted, at random"},
          Field{"climb", &Params::climb,
                "whether the window's share adapts to the hit rate by hill climbing"},
          Field{"step", &Params::step,
                "first step of the window's share with `climb`; below 0, it reduces the window", -1,
                1},
          Field{"start", &Params::start,
                "share of the capacity that is filled before accesses are counted", 0, 1},
          Field{"sketch_blocks", &Params::sketch_blocks,
                "capacity for which `counters` and `sample` are computed; 0: that of the cache", 0,
                1e12},
          Field{"admit_ties", &Params::admit_ties,
                "whether a block is admitted that was accessed as often as the victim"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "w-tinylfu",
      .summary = "Admits a block from an LRU window if it was accessed more often than the victim.",
      .reference =
          "Einziger, Friedman, Manes: TinyLFU: A highly efficient cache admission policy, "
          "ACM Transactions on Storage 13(4), 2017"};

  WTinyLfu(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        params_(params),
        sketch_(counters(slots())),
        door_(params.doorkeeper ? slots() : 0),
        random_(Random(setup.seed).split(kInfo.name)) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    if (!counts_) counts_ = is_filled_to_start(cache);
    if (counts_) count(a.block, cache);
    const Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      reuse(slot, cache);
    } else if (enters(a.block, cache)) {
      make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
      const std::size_t list = is_larger_than_window(cache) ? kProbation : kWindow;
      blocks_.push_front(list, cache.insert(a.block), cache);
      limit_window(cache);
    }
    if (params_.climb && counts_) climb(hit, cache);
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    limit_window(cache);
    limit_protected(cache);
    while (size() > capacity_) cache.evict_back(blocks_, main_victims());
    const std::size_t slots = cache.slots_for(capacity_);
    blocks_.reserve(slots);
    sketch_.reserve(counters(slots));
    if (params_.doorkeeper) door_.reserve(slots);
  }

  Count size() const {
    return blocks_.size(kWindow) + blocks_.size(kProbation) + blocks_.size(kProtected);
  }
  absl::Status check() const {
    if (blocks_.size(kWindow) > max_window_ || blocks_.size(kProtected) > max_protected_) {
      return internal_error("w-tinylfu: {} blocks in a window of {}, {} protected of {}",
                            blocks_.size(kWindow), max_window_, blocks_.size(kProtected),
                            max_protected_);
    }
    return blocks_.check();
  }
  std::size_t bytes() const { return blocks_.bytes() + sketch_.bytes() + door_.bytes(); }
  auto state() {
    return std::tie(blocks_, sketch_, door_, random_, max_window_, max_protected_, counted_,
                    climbed_, hits_, last_rate_, step_, counts_);
  }

 private:
  static constexpr std::size_t kWindow = 0, kProbation = 1, kProtected = 2;
  static constexpr double kDecay = 0.98, kRestart = 0.05;

  std::size_t counters(std::size_t slots) const {
    return static_cast<std::size_t>(
        floor_share(params_.counters, sketched(static_cast<Count>(slots))));
  }
  Count sketched(Count blocks) const {
    return params_.sketch_blocks > 0 ? params_.sketch_blocks : blocks;
  }
  void set_capacity(Count capacity) {
    capacity_ = capacity;
    sample_ = share_of(params_.sample, sketched(capacity));
    climbed_ = hits_ = 0;
    last_rate_ = -1;
    step_ = params_.step * static_cast<double>(capacity);
    set_window(share_of(params_.window, capacity));
  }
  void set_window(Count window) {
    max_window_ = std::clamp<Count>(window, 1, std::max<Count>(1, capacity_ - 1));
    max_protected_ = share_of(params_.protected_share, capacity_ - max_window_);
  }

  bool is_filled_to_start(const auto& cache) const {
    const Count filled = blocks_.weight(kWindow, cache) + blocks_.weight(kProbation, cache) +
                         blocks_.weight(kProtected, cache);
    return filled >= floor_share(params_.start, capacity_);
  }

  // --- Frequencies ----------------------------------------------------------------

  void count(std::uint64_t block, const auto& cache) {
    const bool counts = params_.doorkeeper && !door_.insert(block) ? true
                        : params_.conservative                     ? sketch_.add_to_least(block)
                                                                   : sketch_.add(block);
    if (!counts || (counted_ += cache.next_weight()) < sample_) return;
    counted_ = sample_ / 2;
    sketch_.halve();
    if (params_.doorkeeper) door_.clear();
  }
  std::uint32_t frequency(std::uint64_t block) const {
    const std::uint32_t sketched = sketch_.estimate(block);
    return params_.doorkeeper && door_.contains(block) ? sketched + 1 : sketched;
  }
  bool admits(std::uint64_t candidate, std::uint64_t victim) {
    const std::uint32_t wanted = frequency(candidate);
    const std::uint32_t other = frequency(victim);
    if (wanted > other || (params_.admit_ties && wanted == other)) return true;
    return params_.jitter && wanted >= 6 && random_.below(128) == 0;
  }

  // --- Lists ----------------------------------------------------------------------

  void reuse(Slot slot, const auto& cache) {
    const std::size_t list = blocks_.list_of(slot);
    blocks_.move_to_front(list == kWindow ? kWindow : kProtected, slot, cache);
    limit_protected(cache);
  }
  void limit_protected(const auto& cache) {
    while (blocks_.weight(kProtected, cache) > max_protected_) {
      blocks_.move_to_front(kProbation, blocks_.back(kProtected), cache);
    }
  }
  void limit_window(const auto& cache) {
    while (blocks_.weight(kWindow, cache) > max_window_) {
      blocks_.move_to_front(kProbation, blocks_.back(kWindow), cache);
    }
  }

  // Return the list with the next victim; it is not empty.
  std::size_t main_victims() const {
    if (!blocks_.empty(kProbation)) return kProbation;
    return blocks_.empty(kProtected) ? kWindow : kProtected;
  }
  template <class View>
  bool is_larger_than_window(const View& cache) const {
    if constexpr (View::kWeighs) return cache.next_weight() > max_window_;
    return false;
  }
  // Return whether a new block enters; one that is larger than the window competes first.
  bool enters(std::uint64_t block, const auto& cache) {
    if (!is_larger_than_window(cache) || !cache.is_full(*this)) return true;
    const std::size_t list = main_victims();
    return list == kWindow || admits(block, cache.block(blocks_.back(list)));
  }
  // A block that must leave the window competes with the victim of the main part.
  void evict(auto& cache) {
    const std::size_t list = main_victims();
    Slot victim = blocks_.back(list);
    if (must_leave_window(cache) && list != kWindow) {
      const Slot candidate = blocks_.back(kWindow);
      if (admits(cache.block(candidate), cache.block(victim))) {
        blocks_.move_to_front(kProbation, candidate, cache);
      } else {
        victim = candidate;
      }
    }
    blocks_.erase(victim, cache);
    cache.evict(victim);
  }
  // Return whether a block must leave the window for the accessed one.
  bool must_leave_window(const auto& cache) const {
    return !is_larger_than_window(cache) &&
           blocks_.weight(kWindow, cache) + cache.next_weight() > max_window_;
  }

  // --- Hill climbing --------------------------------------------------------------

  template <class View>
  void climb(bool hit, const View& cache) {
    hits_ += hit ? 1 : 0;
    ++climbed_;
    if constexpr (View::kWeighs) {
      if ((climbed_bytes_ += cache.next_weight()) < sample_) return;
      climbed_bytes_ = 0;
    } else if (climbed_ < sample_) {
      return;
    }
    const double rate = static_cast<double>(hits_) / static_cast<double>(climbed_);
    climbed_ = hits_ = 0;
    const double change = last_rate_ < 0 ? 0 : rate - last_rate_;
    last_rate_ = rate;
    if (change < 0) step_ = -step_;
    set_window(max_window_ + static_cast<Count>(step_));
    step_ = std::abs(change) < kRestart
                ? kDecay * step_
                : std::copysign(params_.step * static_cast<double>(capacity_), step_);
    limit_window(cache);
    limit_protected(cache);
  }

  Params params_;
  CountMinSketch sketch_;
  BloomFilter door_;
  Random random_;
  Count max_window_ = 0;
  Count max_protected_ = 0;
  Count sample_ = 0;   // accesses or bytes between two halvings, and two moves of the window
  Count counted_ = 0;  // accesses since the counts were zero, halved with them
  Count climbed_ = 0;  // accesses since the last move of the window
  Count climbed_bytes_ = 0;
  Count hits_ = 0;  // hits among these
  double last_rate_ = -1;
  double step_ = 0;
  bool counts_ = false;  // whether accesses are counted
};

}  // namespace mcsim
