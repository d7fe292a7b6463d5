#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Hyperbolic caching: the priority of a block is its number of accesses since insertion over the
// time since then. The victim is the block with the lowest priority in a random sample, drawn with
// replacement. A new block may start with a count between its own access and the last victim's
// priority: `leeway` is the weight of its own access. The authors' simulator has 0.1.
//
// For objects of different sizes, the priority is also divided by the size, as the paper does for
// equal costs; an initial count gives the victim's priority to an object of its size.
//
// O(1) per hit, O(sample) per miss; 24 bytes per block of the capacity.
class Hyperbolic : public SlotPolicyBase<SlotSet> {
 public:
  struct Params {
    int sample = 64;
    double leeway = 1;
    static constexpr auto fields() {
      return std::tuple{
          Field{"sample", &Params::sample, "number of blocks drawn for each victim", 1, 65536},
          Field{"leeway", &Params::leeway,
                "weight of a new block's own access in its initial count; the rest is the last "
                "victim's priority",
                1e-9, 1}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "hyperbolic",
      .summary =
          "Evicts the block with the fewest accesses per time in the cache, among a random sample.",
      .reference =
          "Blankstein, Sen, Freedman: Hyperbolic caching: Flexible caching for web "
          "applications, USENIX ATC 2017"};

  Hyperbolic(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        params_(params),
        states_(slots()),
        random_(Random(setup.seed).split(kInfo.name)) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      ++states_[slot].count;
      return true;
    }
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache, now_); });
    const Slot slot = cache.insert(a.block);
    blocks_.insert(slot);
    states_[slot] = {.came = now_, .count = first_count(cache.weight(slot))};
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache, now_ + 1);
    blocks_.reserve(cache.slots_for(capacity_));
    if (blocks_.slots() > states_.size()) states_.extend(blocks_.slots());
  }

  void prefetch(Slot slot) const { prefetch_line(&states_[slot]); }
  std::size_t bytes() const { return blocks_.bytes() + states_.size() * sizeof(Block); }
  auto state() { return std::tie(blocks_, states_, random_, now_, last_victims_); }

 private:
  struct Block {
    std::uint64_t came;
    double count;
    auto state() { return std::tie(came, count); }
  };

  double priority(Slot slot, std::uint64_t now, const auto& cache) const {
    const Block& block = states_[slot];
    return block.count /
           (static_cast<double>(now - block.came) * static_cast<double>(cache.weight(slot)));
  }
  // Before the first eviction there is no victim's priority.
  double first_count(Count weight) const {
    if (last_victims_ == 0) return 1;
    return params_.leeway + (1 - params_.leeway) * last_victims_ * static_cast<double>(weight);
  }
  Slot draw() { return blocks_[random_.below(static_cast<std::uint64_t>(blocks_.size()))]; }

  void evict(auto& cache, std::uint64_t now) {
    Slot victim = draw();
    double least = priority(victim, now, cache);
    for (int i = 1; i < params_.sample; ++i) {
      const Slot slot = draw();
      const double other = priority(slot, now, cache);
      if (other >= least) continue;
      least = other;
      victim = slot;
    }
    last_victims_ = least;
    blocks_.erase(victim);
    cache.evict(victim);
  }

  Params params_;
  Pages<Block> states_;
  Random random_;
  std::uint64_t now_ = 0;
  double last_victims_ = 0;  // priority of the last victim
};

}  // namespace mcsim
