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

#include "core/base/params.hpp"
#include "core/base/share.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/directory.hpp"
#include "core/containers/slot.hpp"

// What an eviction policy is, and what it is given. How to write one:
// policies/README.md.
namespace mcsim {

// Position in the trace of the next access to the same block.
using NextUse = std::uint32_t;
inline constexpr NextUse kNever = std::numeric_limits<NextUse>::max();

template <class BlockType = BlockId>
struct Access {
  using Block = BlockType;
  Block block;
  Op op = Op::kRead;
  NextUse next_use = kNever;  // only for policies that need it
};

class TierCache;
struct PolicySetup;
template <class Interface, class Context>
class Registry;
using EvictionRegistry = Registry<TierCache, PolicySetup>;

// What a policy is made for.
struct PolicySetup {
  Count capacity = 1;  // blocks
  // No more distinct blocks will ever come; what is kept by slot need not be longer.
  std::size_t blocks = kNoSlot;
  // The least of them, where they are ids of a trace.
  BlockId first_block = 0;
  // Where caches of several tiers keep their slots together, and which column is this
  // one's; null: the cache has a table of its own.
  std::shared_ptr<SlotTable> table = nullptr;
  std::size_t column = 0;
  std::uint64_t seed = 1;
  // All accesses to come, for policies that need the next use.
  std::span<const BlockId> trace = {};
  // Where a policy that is made of others finds them by name; null for all else.
  const EvictionRegistry* others = nullptr;
  int wrapped = 0;  // policies that this one is inside of

  // The slots to have where `wanted` blocks may be held or remembered.
  std::size_t slots_for(Count wanted) const {
    return std::min(static_cast<std::size_t>(wanted), blocks);
  }
};

// The cache as its policy sees it: which blocks have slots, and where the victims
// go. `Sink` is told of every block that leaves for want of space:
//
//   void evicted(Block block);
template <class Directory, class Sink>
class PolicyView {
 public:
  using Block = typename Directory::Block;

  PolicyView(Directory& directory, Sink& sink) : directory_(directory), sink_(sink) {}

  // Of a block that is held or remembered; else kNoSlot.
  Slot find(Block block) const { return directory_.find(block); }
  Block block(Slot slot) const { return directory_.block(slot); }
  std::size_t slots_for(Count wanted) const { return directory_.slots_for(wanted); }

  // A slot for a block that has none.
  Slot insert(Block block) { return directory_.insert(block); }
  // Out of the cache, for want of space; the slot is free again.
  void evict(Slot slot) {
    sink_.evicted(directory_.block(slot));
    directory_.erase(slot);
  }
  // Out of the cache, but remembered: the block keeps its slot as a ghost.
  void evict_to_ghost(Slot slot) { sink_.evicted(directory_.block(slot)); }
  // Remembered no longer; the slot is free again.
  void forget(Slot slot) { directory_.erase(slot); }
  // The same of the back of a list; what it takes for the one that is there next is fetched.
  template <class Lists>
  void evict_back(Lists& lists, typename Lists::List list = 0) {
    evict(lists.pop_back(list));
    prefetch_back(lists, list);
  }
  template <class Lists>
  void forget_back(Lists& lists, typename Lists::List list = 0) {
    forget(lists.pop_back(list));
    prefetch_back(lists, list);
  }
  // Towards evict or forget of this slot.
  void prefetch(Slot slot) const { directory_.prefetch_slot(slot); }
  // As evict(victim) and insert(block), in the same slot.
  void replace(Slot victim, Block block) {
    sink_.evicted(directory_.block(victim));
    directory_.replace(victim, block);
  }

 private:
  template <class Lists>
  void prefetch_back(const Lists& lists, typename Lists::List list) const {
    const Slot next = lists.back(list);
    if (next == kNoSlot) return;
    directory_.prefetch_slot(next, lists.newer(next));
  }

  Directory& directory_;
  Sink& sink_;
};

// A share of the capacity in whole blocks, at least 1.
inline Count share_of(double share, Count capacity) {
  return std::max<Count>(1, floor_share(share, capacity));
}

struct NullSink {
  template <class Block>
  void evicted(Block) {}
};

// The concept below is tried on this cache.
using AnyPolicyView = PolicyView<Directory<DenseIndex>, NullSink>;

// An eviction policy over blocks of one size. It keeps whatever it needs by slot.
//
//   access    One access; true if it hits. On a miss the block comes in, for which
//             others may leave. Never called while the capacity is 0. A block that a
//             higher tier demotes comes in this way too.
//   remove    A resident block leaves without being a victim: promoted to another
//             tier, or invalidated.
//   resize    Changes the capacity and evicts what is too much at once.
//   resident  Whether the block of a slot is held; if not, it is only remembered.
//   size      Blocks held: never more than the capacity.
//   slots     How many its arrays have; enough for all blocks held or remembered.
//   prefetch  Towards an access to the block of a slot.
//   check     The structure's own laws, in O(n).
//   bytes     What it keeps, the directory not counted.
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

// Policies that never forget a block say `static constexpr bool kRemembersAll = true`,
// and those that must know the future say `static constexpr bool kNeedsNextUse = true`;
// these may have a `prefetch_use(next_use)`, towards an access that has it.
template <class P>
inline constexpr bool kNeedsNextUse = false;
template <class P>
  requires requires { P::kNeedsNextUse; }
inline constexpr bool kNeedsNextUse<P> = P::kNeedsNextUse;

template <class P>
inline constexpr bool kRemembersAll = false;
template <class P>
  requires requires { P::kRemembersAll; }
inline constexpr bool kRemembersAll<P> = P::kRemembersAll;

// A policy that also serves streams of raw keys, of which nothing is known before.
template <class P>
concept OnlinePolicy = EvictionPolicy<P> && !kNeedsNextUse<P> && !kRemembersAll<P>;

}  // namespace mcsim
