#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/eviction_policy.hpp"

// A cache under a policy, and the loop that replays accesses through it.
namespace mcsim {

// A stretch of a trace. `ops` may be empty: all are reads. `next_uses` may be
// empty unless the policy needs it.
template <class Block = BlockId>
struct AccessBatch {
  std::span<const Block> blocks;
  std::span<const std::uint8_t> ops = {};
  std::span<const NextUse> next_uses = {};

  // At most `count` accesses from `begin` on.
  AccessBatch part(std::size_t begin, std::size_t count) const {
    const std::size_t length = std::min(count, blocks.size() - begin);
    const auto cut = [&](auto column) {
      return column.empty() ? column : column.subspan(begin, length);
    };
    return {cut(blocks), cut(ops), cut(next_uses)};
  }
};

struct CacheCounts {
  Count accesses = 0;
  Count hits = 0;
  Count writes = 0;
  Count write_hits = 0;
  Count evictions = 0;
  Count partial_misses = 0;  // of the misses: other blocks of the line were held

  Count misses() const { return accesses - hits; }
  CacheCounts since(const CacheCounts& before) const {
    return {.accesses = accesses - before.accesses,
            .hits = hits - before.hits,
            .writes = writes - before.writes,
            .write_hits = write_hits - before.write_hits,
            .evictions = evictions - before.evictions,
            .partial_misses = partial_misses - before.partial_misses};
  }
  friend bool operator==(const CacheCounts&, const CacheCounts&) = default;
};

// How many accesses before its own what a block needs is fetched.
inline constexpr std::size_t kIndexAhead = 24;
inline constexpr std::size_t kSlotAhead = 8;

// A policy, the directory of its blocks and a sink for its victims. All is inlined into
// the loop (flatten: left to itself, GCC calls what is long); nothing is allocated but by
// the constructor and resize.
template <EvictionPolicy P, class Index = DenseIndex>
class Cache {
  static_assert(OnlinePolicy<P> || std::same_as<Index, DenseIndex>,
                "this policy needs an interned trace: it must know the future, or remembers all");

 public:
  using Block = typename Index::Block;

  Cache(const typename P::Params& params, const PolicySetup& setup, Index index)
      : policy_(params, setup), directory_(std::move(index), policy_.slots()) {}

  template <class Sink>
  bool access(const Access<Block>& a, Sink& sink) {
    if (policy_.capacity() == 0) return false;
    PolicyView view(directory_, sink);
    return policy_.access(a, view);
  }

  // Replays a batch. The blocks to come are known, so what will be needed of them is
  // fetched: first where the index has them, then what the policy keeps in their slots.
  template <class Sink>
  void replay(const AccessBatch<Block>& batch, CacheCounts& counts, Sink& sink) {
    if (policy_.capacity() == 0) {
      for (const std::uint8_t op : batch.ops) counts.writes += op;
      counts.accesses += static_cast<Count>(batch.blocks.size());
    } else if (batch.ops.empty()) {
      replay_all<false>(batch, counts, sink);
    } else {
      replay_all<true>(batch, counts, sink);
    }
  }

  template <class Sink>
  void resize(Count capacity, Sink& sink) {
    PolicyView view(directory_, sink);
    policy_.resize(capacity, view);
    directory_.reserve(policy_.slots());
  }

  // An access if the block is held; else false, and nothing has happened.
  template <class Sink>
  bool touch(const Access<Block>& a, Sink& sink) {
    if (!contains(a.block)) return false;
    PolicyView view(directory_, sink);
    return policy_.access(a, view);
  }

  // The block leaves without being a victim; false if it was not held.
  bool take(Block block) {
    const Slot slot = directory_.find(block);
    if (slot == kNoSlot || !policy_.resident(slot)) return false;
    NullSink nobody;
    PolicyView view(directory_, nobody);
    policy_.remove(slot, view);
    return true;
  }

  // Towards an access: first where the index has the block, then, when that has
  // come, what the policy keeps in its slot.
  void prefetch_index(Block block) const { directory_.prefetch(block); }
  void prefetch_slot(Block block) const {
    const Slot slot = directory_.guess(block);
    if (slot != kNoSlot) policy_.prefetch(slot);
  }
  // Towards an access that gives a block this next use.
  void prefetch_use(NextUse next_use) const {
    if constexpr (requires { policy_.prefetch_use(next_use); }) policy_.prefetch_use(next_use);
  }

  bool contains(Block block) const {
    const Slot slot = directory_.find(block);
    return slot != kNoSlot && policy_.resident(slot);
  }
  Count size() const { return policy_.size(); }
  Count capacity() const { return policy_.capacity(); }
  std::size_t bytes() const { return policy_.bytes() + directory_.bytes(); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(policy_.check());
    if (size() < 0 || size() > capacity()) {
      return internal_error("holds {} blocks of {}", size(), capacity());
    }
    return directory_.check();
  }

  const P& policy() const { return policy_; }

 private:
  template <bool kHasOps, class Sink>
  [[gnu::flatten]] void replay_all(const AccessBatch<Block>& batch, CacheCounts& counts,
                                   Sink& sink) {
    PolicyView view(directory_, sink);
    const std::span<const Block> blocks = batch.blocks;
    Count hits[2] = {0, 0};
    Count writes = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      prefetch_index(blocks[std::min(i + kIndexAhead, blocks.size() - 1)]);
      prefetch_slot(blocks[std::min(i + kSlotAhead, blocks.size() - 1)]);

      Access<Block> a{.block = blocks[i]};
      if constexpr (kHasOps) {
        a.op = static_cast<Op>(batch.ops[i]);
        writes += batch.ops[i];
      }
      if constexpr (kNeedsNextUse<P>) {
        prefetch_use(batch.next_uses[std::min(i + kSlotAhead, blocks.size() - 1)]);
        a.next_use = batch.next_uses[i];
      }
      const bool hit = policy_.access(a, view);
      hits[static_cast<std::size_t>(a.op)] += hit ? 1 : 0;
    }
    counts.accesses += static_cast<Count>(blocks.size());
    counts.hits += hits[0] + hits[1];
    counts.writes += writes;
    counts.write_hits += hits[1];
  }

  P policy_;
  Directory<Index> directory_;
};

// A cache of some policy, chosen at run time: one virtual call a batch.
class PolicyCache {
 public:
  virtual ~PolicyCache() = default;

  // Blocks must be below the `blocks` of the setup. Fails if the batch lacks what the
  // policy needs, or its columns differ in length.
  virtual absl::Status replay(const AccessBatch<>& batch) = 0;
  virtual void resize(Count capacity) = 0;

  virtual bool contains(BlockId block) const = 0;
  virtual Count size() const = 0;
  virtual Count capacity() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool needs_next_use() const = 0;
  // Conservation of blocks, and the policy's own laws.
  virtual absl::Status check() const = 0;

  const CacheCounts& counts() const { return counts_; }

 protected:
  CacheCounts counts_;
};

// What is asked of a cache in an exclusive chain because of some access of a batch, in
// one word.
class ChainStep {
 public:
  enum Kind : std::uint64_t {
    kAccess,  // the block comes in, unless it is held
    kMissed,  // the block came into a faster tier: it leaves this one, if it is held
    kVictim,  // of a faster tier: comes in
  };

  ChainStep(BlockId block, std::size_t request, Kind kind, Op op)
      : word_(block | kind << 32 | static_cast<std::uint64_t>(op) << 34 |
              static_cast<std::uint64_t>(request) << 35) {}

  BlockId block() const { return static_cast<BlockId>(word_); }
  Kind kind() const { return static_cast<Kind>(word_ >> 32 & 3); }
  Op op() const { return static_cast<Op>(word_ >> 34 & 1); }
  std::size_t request() const { return word_ >> 35; }
  // Of an access: the same of a tier that did not hold the block.
  ChainStep missed() const {
    static_assert(kAccess == 0);
    ChainStep step = *this;
    step.word_ |= std::uint64_t{kMissed} << 32;
    return step;
  }

 private:
  std::uint64_t word_;
};

// When the blocks of steps are accessed next, for caches that must know the future.
struct ChainUses {
  const NextUse* of_steps;
  NextUse* of_blocks;  // by block, while the cache holds it: victims take it along
  NextUse* of_next;    // of the steps for the cache below
};

// A cache that can also be part of a host, which decides what comes into it, block by
// block, and does its own counting. Victims are added to those already there.
class TierCache : public PolicyCache {
 public:
  void resize(Count capacity) override {
    std::vector<BlockId> victims;
    resize(capacity, victims);
    counts_.evictions += static_cast<Count>(victims.size());
  }

  // An access if the block is held; else false, and nothing has happened.
  virtual bool touch(const Access<>& a) = 0;
  // A block that is not held comes in; there is a capacity.
  virtual void insert(const Access<>& a, std::vector<BlockId>& victims) = 0;
  // A block leaves without being a victim; false if it was not held.
  virtual bool take(BlockId block) = 0;
  virtual void resize(Count capacity, std::vector<BlockId>& victims) = 0;
  // Towards an access to a block that has a slot.
  virtual void prefetch_slot(BlockId) const {}

  // Whether a block that is not held, and that nothing else keeps out, may come in; only a
  // selective one ever says no.
  virtual bool admits(const Access<>&) { return true; }
  virtual bool selective() const { return false; }
  // What went wrong in a policy that can fail. It goes on, but decides nothing any more.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  // Takes all steps; a cache without capacity leaves them as they are. What is not held,
  // and the victims, are steps for the cache below: from `next` on, where there must be
  // room for two a step and the blocks held. Returns the end of them. `uses` are given where
  // some cache of the chain must know them; those of steps that are kMissed nobody needs.
  virtual ChainStep* serve(std::span<const ChainStep> steps, ChainStep* next,
                           const ChainUses* uses = nullptr);
};

// Where a cache finds its slots: in its column, or in a table of its own.
inline DenseIndex index_for(const PolicySetup& setup) {
  if (setup.table == nullptr) return DenseIndex(setup.blocks);
  return {setup.table, setup.column, setup.first_block, setup.blocks};
}

// The list of policies becomes a registry of these.
template <class P>
class PolicyCacheOf final : public TierCache {
  static_assert(EvictionPolicy<P>,
                "this is not yet an eviction policy: the notes name what it lacks of the "
                "concept in core/engine/eviction_policy.hpp");

 public:
  using Params = typename P::Params;
  static constexpr ComponentInfo kInfo = P::kInfo;

  PolicyCacheOf(const Params& params, const PolicySetup& setup)
      : cache_(params, setup, index_for(setup)) {}

  absl::Status replay(const AccessBatch<>& batch) override {
    if (!batch.ops.empty() && batch.ops.size() != batch.blocks.size()) {
      return invalid_argument("{} operations of {} accesses", batch.ops.size(),
                              batch.blocks.size());
    }
    if (kNeedsNextUse<P> && batch.next_uses.size() != batch.blocks.size()) {
      return invalid_argument("{} needs the next use of every access", kInfo.name);
    }
    Evictions sink{counts_.evictions};
    cache_.replay(batch, counts_, sink);
    return absl::OkStatus();
  }

  // A hit makes no victims.
  bool touch(const Access<>& a) override {
    NullSink nobody;
    return cache_.touch(a, nobody);
  }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    Victims sink{victims};
    cache_.access(a, sink);
  }
  bool take(BlockId block) override { return cache_.take(block); }
  using TierCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override {
    Victims sink{victims};
    cache_.resize(capacity, sink);
  }
  void prefetch_slot(BlockId block) const override { cache_.prefetch_slot(block); }

  [[gnu::flatten]] ChainStep* serve(std::span<const ChainStep> steps, ChainStep* next,
                                    const ChainUses* uses) override {
    if (cache_.capacity() == 0 || (uses != nullptr && !kNeedsNextUse<P>)) {
      return TierCache::serve(steps, next, uses);
    }
    VictimSteps sink{.next = next, .first = next, .uses = uses};
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // What a part keeps by slot is near already: to fetch that too was slower.
      cache_.prefetch_index(steps[std::min(i + kIndexAhead, steps.size() - 1)].block());
      if constexpr (kNeedsNextUse<P>) {
        const std::size_t soon = std::min(i + kSlotAhead, steps.size() - 1);
        cache_.prefetch_use(uses->of_steps[soon]);
        prefetch_line(&uses->of_blocks[steps[soon].block()]);
      }

      const ChainStep step = steps[i];
      if (step.kind() == ChainStep::kMissed) {
        if (!cache_.take(step.block())) *next++ = step;
        continue;
      }
      Access<> a{.block = step.block(), .op = step.op()};
      if constexpr (kNeedsNextUse<P>) a.next_use = uses->of_blocks[a.block] = uses->of_steps[i];
      sink.next = next;
      sink.request = step.request();
      if (step.kind() == ChainStep::kAccess) *sink.next++ = step.missed();
      const bool hit = cache_.access(a, sink);
      if (!hit) next = sink.next;
    }
    return next;
  }

  bool contains(BlockId block) const override { return cache_.contains(block); }
  Count size() const override { return cache_.size(); }
  Count capacity() const override { return cache_.capacity(); }
  std::size_t bytes() const override { return cache_.bytes(); }
  bool needs_next_use() const override { return kNeedsNextUse<P>; }
  absl::Status check() const override { return cache_.check(); }

 private:
  struct Evictions {
    Count& count;
    void evicted(BlockId) { ++count; }
  };
  struct Victims {
    std::vector<BlockId>& blocks;
    void evicted(BlockId block) { blocks.push_back(block); }
  };
  struct VictimSteps {
    ChainStep* next;
    ChainStep* first;
    const ChainUses* uses;
    std::size_t request = 0;

    void evicted(BlockId block) {
      if constexpr (kNeedsNextUse<P>) uses->of_next[next - first] = uses->of_blocks[block];
      *next++ = ChainStep(block, request, ChainStep::kVictim, Op::kRead);
    }
  };

  Cache<P> cache_;
};

}  // namespace mcsim
