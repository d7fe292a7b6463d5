#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/choices.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/engine/policy/slot_policy_base.hpp"
#include "policies/eviction/lfu_da.hpp"

namespace mcsim {

// The cost of fetching an object.
enum class FetchCost : std::uint8_t { kOne, kSize };

template <>
struct Choices<FetchCost> {
  static constexpr std::array names{std::pair{"one", FetchCost::kOne},
                                    std::pair{"size", FetchCost::kSize}};
};

struct GdsfParams {
  FetchCost cost = FetchCost::kOne;

  static constexpr auto fields() {
    return std::tuple{Field{"cost", &GdsfParams::cost,
                            "cost of an object: one favours hits of objects, size hits of bytes; "
                            "for blocks of one size both are equal"}};
  }
};

// Greedy-Dual-Size with frequency: the key of an object is its count times its cost over its size,
// plus the age of the cache. Blocks have equal sizes and costs, for which it is LFU with dynamic
// ageing.
class Gdsf : public LfuDa {
 public:
  using Params = GdsfParams;
  static constexpr bool kWeighs = false;
  static constexpr ComponentInfo kInfo{
      .name = "gdsf",
      .summary =
          "Evicts the lowest count × cost / size plus age; for blocks of one size it equals "
          "lfu-da.",
      .reference =
          "Cherkasova: Improving WWW proxies performance with Greedy-Dual-Size-Frequency "
          "caching policy, HP Laboratories HPL-98-69R1, 1998"};

  Gdsf(const Params&, const PolicySetup& setup) : LfuDa({}, setup) {}
};

// The key of an object, and its last access; among equal keys the least recently used object is
// evicted.
struct GdsfKey {
  double value;
  std::uint64_t last;
  auto operator<=>(const GdsfKey&) const = default;
};

// The same for objects of different sizes. The age is the key of the last victim.
//
// O(log n) per access; 32 bytes per slot.
class GdsfOfSizes : public SlotPolicyBase<SlotHeap<GdsfKey>> {
 public:
  using Params = GdsfParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo = Gdsf::kInfo;

  GdsfOfSizes(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), params_(params), count_(slots()) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      ++count_[slot];
      blocks_.update(slot, key(slot, a.weight));
      return true;
    }
    while (cache.is_full(*this)) evict(cache);
    const Slot slot = cache.insert(a.block);
    count_[slot] = 1;
    blocks_.push(slot, key(slot, a.weight));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    const std::size_t slots = cache.slots_for(capacity_);
    blocks_.reserve(slots);
    if (slots > count_.size()) count_.extend(slots);
  }

  std::size_t bytes() const { return blocks_.bytes() + count_.size() * sizeof(std::uint32_t); }

 private:
  GdsfKey key(Slot slot, Count size) const {
    const double cost = params_.cost == FetchCost::kOne ? 1 : static_cast<double>(size);
    return {age_ + count_[slot] * cost / static_cast<double>(size), now_};
  }
  void evict(auto& cache) {
    const Slot victim = blocks_.top();
    age_ = blocks_.key(victim).value;
    blocks_.erase(victim);
    cache.evict(victim);
  }

  Params params_;
  Pages<std::uint32_t> count_;
  double age_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace mcsim
