#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "core/containers/slot_lists.hpp"
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
// 0.98 and restart when the hit rate changes by 0.05. The first step enlarges the window, as in
// Caffeine's simulator; in the Caffeine library it reduces the window. As in Caffeine, an access
// with all counters at their limit does not count towards halving.
//
// O(1) per access, amortised; 9 bytes per block of the capacity, the sketch 8 to 16.
class WTinyLfu : public SlotPolicyBase<SlotLists<3>> {
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
                "whether the window's share adapts to the hit rate by hill climbing"}};
    }
  };
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
    count(a.block);
    const Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      reuse(slot);
    } else {
      if (size() == capacity_) evict(cache);
      blocks_.push_front(kWindow, cache.insert(a.block));
      limit_window();
    }
    if (params_.climb) climb(hit);
    return hit;
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    limit_window();
    while (blocks_.size(kProtected) > max_protected_) demote();
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
                    climbed_, hits_, last_rate_, step_);
  }

 private:
  static constexpr std::size_t kWindow = 0, kProbation = 1, kProtected = 2;
  static constexpr double kFirstStep = 1.0 / 16, kDecay = 0.98, kRestart = 0.05;

  std::size_t counters(std::size_t slots) const {
    return static_cast<std::size_t>(floor_share(params_.counters, static_cast<Count>(slots)));
  }
  void set_capacity(Count capacity) {
    capacity_ = capacity;
    sample_ = share_of(params_.sample, capacity);
    climbed_ = hits_ = 0;
    last_rate_ = -1;
    step_ = kFirstStep * static_cast<double>(capacity);
    set_window(share_of(params_.window, capacity));
  }
  void set_window(Count window) {
    max_window_ = std::clamp<Count>(window, 1, std::max<Count>(1, capacity_ - 1));
    max_protected_ = share_of(params_.protected_share, capacity_ - max_window_);
  }

  // --- Frequencies ----------------------------------------------------------------

  void count(std::uint64_t block) {
    const bool counts = params_.doorkeeper && !door_.insert(block) ? true
                        : params_.conservative                     ? sketch_.add_to_least(block)
                                                                   : sketch_.add(block);
    if (!counts || ++counted_ < sample_) return;
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
    if (wanted > frequency(victim)) return true;
    return params_.jitter && wanted >= 6 && random_.below(128) == 0;
  }

  // --- Lists ----------------------------------------------------------------------

  void reuse(Slot slot) {
    const std::size_t list = blocks_.list_of(slot);
    blocks_.move_to_front(list == kWindow ? kWindow : kProtected, slot);
    if (blocks_.size(kProtected) > max_protected_) demote();
  }
  void demote() { blocks_.move_to_front(kProbation, blocks_.back(kProtected)); }
  void limit_window() {
    while (blocks_.size(kWindow) > max_window_) {
      blocks_.move_to_front(kProbation, blocks_.back(kWindow));
    }
  }

  // Return the list with the next victim; it is not empty.
  std::size_t main_victims() const {
    if (!blocks_.empty(kProbation)) return kProbation;
    return blocks_.empty(kProtected) ? kWindow : kProtected;
  }
  // A block that must leave the window competes with the victim of the main part.
  void evict(auto& cache) {
    const std::size_t list = main_victims();
    Slot victim = blocks_.back(list);
    if (blocks_.size(kWindow) == max_window_ && list != kWindow) {
      const Slot candidate = blocks_.back(kWindow);
      if (admits(cache.block(candidate), cache.block(victim))) {
        blocks_.move_to_front(kProbation, candidate);
      } else {
        victim = candidate;
      }
    }
    blocks_.erase(victim);
    cache.evict(victim);
  }

  // --- Hill climbing --------------------------------------------------------------

  void climb(bool hit) {
    hits_ += hit ? 1 : 0;
    if (++climbed_ < sample_) return;
    const double rate = static_cast<double>(hits_) / static_cast<double>(climbed_);
    climbed_ = hits_ = 0;
    const double change = last_rate_ < 0 ? 0 : rate - last_rate_;
    last_rate_ = rate;
    if (change < 0) step_ = -step_;
    set_window(max_window_ + static_cast<Count>(step_));
    step_ = std::abs(change) < kRestart
                ? kDecay * step_
                : std::copysign(kFirstStep * static_cast<double>(capacity_), step_);
    limit_window();
    while (blocks_.size(kProtected) > max_protected_) demote();
  }

  Params params_;
  CountMinSketch sketch_;
  BloomFilter door_;
  Random random_;
  Count max_window_ = 0;
  Count max_protected_ = 0;
  Count sample_ = 0;   // accesses between two halvings, and between two moves of the window
  Count counted_ = 0;  // accesses since the counts were zero, halved with them
  Count climbed_ = 0;  // accesses since the last move of the window
  Count hits_ = 0;     // hits among these
  double last_rate_ = -1;
  double step_ = 0;
};

}  // namespace mcsim
