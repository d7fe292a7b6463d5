#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>

#include "core/base/archive.hpp"
#include "core/base/params.hpp"
#include "core/base/share.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/directory.hpp"
#include "core/containers/slot.hpp"
#include "core/engine/policy/access.hpp"
#include "core/engine/policy/weights.hpp"

// The interface of eviction policies. policies/README.md explains how to write one.
namespace mcsim {

class TierCache;
struct PolicySetup;
template <class Interface, class Context>
class Registry;
using EvictionRegistry = Registry<TierCache, PolicySetup>;

// The parameters with which a policy is constructed.
struct PolicySetup {
  Count capacity = 1;  // blocks
  // Upper bound on the number of distinct blocks; arrays indexed by slot need not be longer.
  std::size_t blocks = kNoSlot;
  // The smallest block id, for ids of a trace.
  BlockId first_block = 0;
  // The slot table shared by the caches of several tiers, and the column of this cache; null: the
  // cache has a table of its own.
  std::shared_ptr<SlotTable> table = nullptr;
  std::size_t column = 0;
  std::uint64_t seed = 1;
  // All accesses of the trace, for policies that need the next use.
  std::span<const BlockId> trace = {};
  // The registry in which a composite policy finds its parts by name; null for other policies.
  const EvictionRegistry* registry = nullptr;
  int wrapped = 0;  // number of policies around this one

  // The number of slots if up to `wanted` blocks may be resident or ghosts.
  std::size_t slots_for(Count wanted) const {
    return std::min(static_cast<std::size_t>(wanted), blocks);
  }
};

// The cache as its policy sees it: it maps blocks to slots and passes on victims. `Sink` is called
// for every block that is evicted for lack of space, and for those that a tick cleans:
//
//   void evicted(Block block);
//   void cleaned(Block block);
template <class Directory, class Sink, class Weights = EqualWeights>
class PolicyView {
 public:
  using Block = typename Directory::Block;
  // Whether blocks may have different weights. If not, replace() is faster than evict() and
  // insert().
  static constexpr bool kWeighs = Weights::kVary;

  PolicyView(Directory& directory, Sink& sink, Weights& weights)
      : directory_(directory), sink_(sink), weights_(weights) {}

  // Return whether the accessed block does not fit; it is not resident.
  bool is_full(const auto& policy) const {
    return weights_.leave_no_room(policy.size(), policy.capacity());
  }

  // The slot of a resident or ghost block; else kNoSlot.
  Slot find(Block block) const { return directory_.find(block); }
  Block block(Slot slot) const { return directory_.block(slot); }
  std::size_t slots_for(Count wanted) const { return directory_.slots_for(wanted); }

  // Allocate a slot for a block that has none.
  Slot insert(Block block) {
    const Slot slot = directory_.insert(block);
    weights_.enter(slot);
    return slot;
  }
  // A ghost is resident again.
  void revive(Slot slot) { weights_.enter(slot); }
  // The weight of the accessed block, as this access states it.
  Count next_weight() const { return weights_.next(); }
  // The weight of a block with a slot; of a ghost, its last one.
  Count weight(Slot slot) const { return weights_.of(slot); }
  // Evict the block for lack of space and free its slot.
  void evict(Slot slot) {
    evict_to_ghost(slot);
    directory_.erase(slot);
  }
  // Evict the block, but keep its slot as a ghost.
  void evict_to_ghost(Slot slot) {
    sink_.evicted(directory_.block(slot));
    weights_.leave(slot);
  }
  // Write the block back if it is dirty; for the background work of policies with a clock.
  void clean(Slot slot) { sink_.cleaned(directory_.block(slot)); }
  // Drop a ghost and free its slot.
  void forget(Slot slot) { directory_.erase(slot); }
  // The same for the back of a list; also prefetches for the next block at the back.
  template <class Lists>
  void evict_back(Lists& lists, typename Lists::List list = 0) {
    evict(pop_back(lists, list));
    prefetch_back(lists, list);
  }
  template <class Lists>
  void forget_back(Lists& lists, typename Lists::List list = 0) {
    forget(pop_back(lists, list));
    prefetch_back(lists, list);
  }
  // Prefetch for evict() or forget() of this slot.
  void prefetch(Slot slot) const { directory_.prefetch_slot(slot); }
  // The same as evict(victim) and insert(block), in the same slot.
  void replace(Slot victim, Block block)
    requires(!kWeighs)
  {
    sink_.evicted(directory_.block(victim));
    directory_.replace(victim, block);
  }

 private:
  template <class Lists>
  Slot pop_back(Lists& lists, typename Lists::List list) const {
    if constexpr (requires { lists.pop_back(list, *this); }) {
      return lists.pop_back(list, *this);
    } else {
      return lists.pop_back(list);
    }
  }
  template <class Lists>
  void prefetch_back(const Lists& lists, typename Lists::List list) const {
    const Slot next = lists.back(list);
    if (next == kNoSlot) return;
    directory_.prefetch_slot(next, lists.newer(next));
  }

  Directory& directory_;
  Sink& sink_;
  Weights& weights_;
};

// A share of the capacity in whole blocks, at least 1.
inline Count share_of(double share, Count capacity) {
  return std::max<Count>(1, floor_share(share, capacity));
}

struct NullSink {
  template <class Block>
  void evicted(Block) {}
  template <class Block>
  void cleaned(Block) {}
};

// The background work of a policy with a clock: the time in the trace between two calls of tick(),
// and the maximum number of blocks that one call evicts or cleans. A period of 0: no clock.
struct Ticks {
  Nanoseconds period = 0;
  Count budget = 0;  // blocks
};

// The cache with which the concept below is checked.
using AnyPolicyView = PolicyView<Directory<DenseIndex>, NullSink>;

// An eviction policy for blocks of one size. It keeps its state by slot.
//
//   access    Serve one access; return true on a hit. On a miss, insert the block and evict
//             others if necessary; a policy may refuse blocks first (`admits`, below). Never called
//             while the capacity is 0. A block demoted by a faster tier is inserted with this call,
//             too.
//   remove    Remove a resident block that is not a victim: promoted to another tier, or
//             invalidated.
//   resize    Change the capacity and evict all excess blocks at once.
//   resident  Return whether the block of a slot is in the cache; if not, it is a ghost.
//   size      Number of resident blocks: never more than the capacity.
//   slots     Length of the arrays; enough for all resident blocks and ghosts.
//   prefetch  Prefetch for an access to the block of a slot.
//   check     Check the invariants of the structure, in O(n).
//   bytes     Memory of the policy without the directory.
template <class P>
concept EvictionPolicy =
    std::movable<P> && std::same_as<decltype(P::kInfo), const ComponentInfo> &&
    std::constructible_from<P, const typename P::Params&, const PolicySetup&> &&
    requires(P p, const P q, AnyPolicyView& cache, const Access<>& a, Slot slot, Count capacity) {
      { P::Params::fields() };
      { p.access(a, cache) } -> std::same_as<bool>;
      { p.remove(slot, cache) } -> std::same_as<void>;
      { p.resize(capacity, cache) } -> std::same_as<void>;
      { q.resident(slot) } -> std::same_as<bool>;
      { q.size() } -> std::same_as<Count>;
      { q.capacity() } -> std::same_as<Count>;
      { q.slots() } -> std::same_as<std::size_t>;
      { q.prefetch(slot) } -> std::same_as<void>;
      { q.check() } -> std::same_as<absl::Status>;
      { q.bytes() } -> std::same_as<std::size_t>;
    };

// Policies that never drop a ghost define `static constexpr bool kRemembersAll = true`. Policies
// that need the future define `static constexpr bool kNeedsNextUse = true`, and may have
// `prefetch_use(next_use)`, which prefetches for an access with that next use.
template <class P>
inline constexpr bool kNeedsNextUse = false;
template <class P>
  requires requires { P::kNeedsNextUse; }
inline constexpr bool kNeedsNextUse<P> = P::kNeedsNextUse;

// A policy that refuses blocks, has a clock or reads the time defines:
//
//   admits      bool admits(a, cache): return whether the block, which is not held, enters. Called
//               once before access() inserts a block, also one that a faster tier demotes; access()
//               is not called for a refused block. May evict blocks; the capacity may be 0.
//   clock       Ticks ticks() const: the period of tick(), and its budget.
//   tick        void tick(time, cache): evict() and clean() blocks in the background. Called at
//               every multiple of the period since the first access, after earlier accesses.
//   kReadsTime  static constexpr bool kReadsTime = true: access() reads `a.request->time`. If that
//               depends on parameters, bool reads_time() const returns it.
template <class P>
concept RefusingPolicy = requires(P p, AnyPolicyView& cache, const Access<>& a) {
  { p.admits(a, cache) } -> std::same_as<bool>;
};
template <class P>
concept PolicyWithClock = requires(P p, const P q, AnyPolicyView& cache, Nanoseconds time) {
  { q.ticks() } -> std::same_as<Ticks>;
  { p.tick(time, cache) } -> std::same_as<void>;
};
template <class P>
inline constexpr bool kReadsTime = false;
template <class P>
  requires requires { P::kReadsTime; }
inline constexpr bool kReadsTime<P> = P::kReadsTime;

// A policy for objects of different sizes defines `static constexpr bool kWeighs = true`, evicts
// until `cache.is_full(*this)` is false, and calls `cache.revive(slot)` for a ghost that becomes
// resident. One that counts the weights of some blocks defines `void reweigh(slot, more)`, for the
// change of a resident object's size.
template <class P>
concept WeighingPolicy = requires { requires P::kWeighs; };

template <class P>
inline constexpr bool kRemembersAll = false;
template <class P>
  requires requires { P::kRemembersAll; }
inline constexpr bool kRemembersAll<P> = P::kRemembersAll;

// Policies that can be saved define `auto state()`: the tuple of the members that change, as
// core/base/archive.hpp describes. A policy that needs the future has no state to save: it depends
// on the trace.
template <class P>
concept SavablePolicy = EvictionPolicy<P> && HasState<P> && !kNeedsNextUse<P>;

// A policy that also serves streams of raw keys, whose blocks are not known in advance.
template <class P>
concept OnlinePolicy = EvictionPolicy<P> && !kNeedsNextUse<P> && !kRemembersAll<P> &&
                       !PolicyWithClock<P> && !kReadsTime<P>;

}  // namespace mcsim
