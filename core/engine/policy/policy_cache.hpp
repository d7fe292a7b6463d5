#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/policy/eviction_policy.hpp"
#include "core/engine/policy/tier_cache.hpp"

// A cache under a policy known at compile time, so that all of it is inlined into the replay loops;
// and its adapter to TierCache, which is selected at run time, with one virtual call a batch.
namespace mcsim {

// A policy and the directory of its blocks; victims go to a sink. All is inlined into the loop
// (flatten: by default GCC does not inline long functions). Only the constructor and resize()
// allocate memory.
template <EvictionPolicy P, class Index = DenseIndex, class Weights = EqualWeights>
class Cache {
  static_assert(WeighingPolicy<P> || !Weights::kVary, "this policy has no rule for sizes");
  static_assert(OnlinePolicy<P> || std::same_as<Index, DenseIndex>,
                "this policy needs an interned trace: it must know the future, or remembers all");

 public:
  using Block = typename Index::Block;

  Cache(const typename P::Params& params, const PolicySetup& setup, Index index)
      : policy_(params, setup),
        directory_(std::move(index), policy_.slots()),
        weights_(policy_.slots()) {}

  template <class Sink>
  bool access(const Access<Block>& a, Sink& sink) {
    if (policy_.capacity() == 0) return false;
    PolicyView view(directory_, sink, weights_);
    return access_in(view, a);
  }

  // Return whether the policy may refuse blocks.
  bool refuses() const {
    if constexpr (requires { policy_.refuses(); }) return policy_.refuses();
    return RefusingPolicy<P>;
  }
  // Return whether the policy reads the time of accesses.
  bool reads_time() const {
    if constexpr (requires { policy_.reads_time(); }) return policy_.reads_time();
    return kReadsTime<P>;
  }
  // Return whether the policy admits a block that is not held.
  template <class Sink>
  bool admits(const Access<Block>& a, Sink& sink) {
    if constexpr (RefusingPolicy<P>) {
      PolicyView view(directory_, sink, weights_);
      return policy_.admits(a, view);
    }
    return true;
  }
  template <class Sink>
    requires PolicyWithClock<P>
  void tick(Nanoseconds time, Sink& sink) {
    PolicyView view(directory_, sink, weights_);
    policy_.tick(time, view);
  }

  // Replay a batch. The next blocks are known, so their data is prefetched: first the index
  // entries, then the policy's data of their slots.
  template <class Sink>
  void replay(const AccessBatch<Block>& batch, CacheCounts& counts, Sink& sink) {
    if (policy_.capacity() == 0) {
      for (const std::uint8_t op : batch.ops) counts.writes += op;
      std::ranges::fill(batch.hits, std::uint8_t{0});
      counts.accesses += static_cast<Count>(batch.blocks.size());
    } else if (batch.ops.empty()) {
      replay_all<false>(batch, counts, sink);
    } else {
      replay_all<true>(batch, counts, sink);
    }
  }

  template <class Sink>
  void resize(Count capacity, Sink& sink) {
    PolicyView view(directory_, sink, weights_);
    policy_.resize(capacity, view);
    directory_.reserve(policy_.slots());
    weights_.reserve(policy_.slots());
  }

  // Serve an access if the block is held; otherwise return false and change nothing.
  template <class Sink>
  bool touch(const Access<Block>& a, Sink& sink) {
    if (!contains(a.block)) return false;
    PolicyView view(directory_, sink, weights_);
    return access_in(view, a);
  }

  // Remove a block that is not a victim; return false if it was not held.
  bool take(Block block) {
    const Slot slot = directory_.find(block);
    if (slot == kNoSlot || !policy_.resident(slot)) return false;
    NullSink null_sink;
    PolicyView view(directory_, null_sink, weights_);
    weights_.leave(slot);
    policy_.remove(slot, view);
    return true;
  }

  // Prefetch for an access in two steps: first the block's index entry, then, when that has
  // arrived, the policy's data of the slot.
  void prefetch_index(Block block) const { directory_.prefetch(block); }
  void prefetch_slot(Block block) const {
    const Slot slot = directory_.guess(block);
    if (slot != kNoSlot) policy_.prefetch(slot);
  }
  // Prefetch for an access with this next use.
  void prefetch_use(NextUse next_use) const {
    if constexpr (requires { policy_.prefetch_use(next_use); }) policy_.prefetch_use(next_use);
  }

  bool contains(Block block) const {
    const Slot slot = directory_.find(block);
    return slot != kNoSlot && policy_.resident(slot);
  }
  Count size() const { return policy_.size(); }
  Count capacity() const { return policy_.capacity(); }
  std::size_t bytes() const { return policy_.bytes() + directory_.bytes() + weights_.bytes(); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(policy_.check());
    if (size() < 0 || size() > capacity()) {
      return internal_error("holds {} blocks of {}", size(), capacity());
    }
    return directory_.check();
  }

  // All that changes: the policy's state and the blocks.
  auto state()
    requires SavablePolicy<P> && (!Weights::kVary)
  {
    return std::tie(policy_, directory_);
  }

  const P& policy() const { return policy_; }

 private:
  // An object that is larger than the cache is not kept.
  bool access_in(auto& view, const Access<Block>& a) {
    if constexpr (Weights::kVary) {
      weights_.set_next(a.weight);
      const bool fits = a.weight <= policy_.capacity();
      if (!contains(a.block)) return fits && policy_.access(a, view);
      if (!fits) return take(a.block);
      const Slot slot = directory_.find(a.block);
      [[maybe_unused]] const Count more = weights_.renew(slot);
      if constexpr (requires { policy_.reweigh(slot, more); }) policy_.reweigh(slot, more);
    }
    return policy_.access(a, view);
  }

  template <bool kHasOps, class Sink>
  [[gnu::flatten]] void replay_all(const AccessBatch<Block>& batch, CacheCounts& counts,
                                   Sink& sink) {
    PolicyView view(directory_, sink, weights_);
    const std::span<const Block> blocks = batch.blocks;
    [[maybe_unused]] const bool can_refuse = refuses();
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
      if constexpr (Weights::kVary) a.weight = batch.weights[i];
      [[maybe_unused]] RequestContext request;
      if constexpr (kReadsTime<P>) {
        if (reads_time()) request.time = batch.times[i];
        a.request = &request;
      }
      bool hit = false;
      if constexpr (RefusingPolicy<P>) {
        hit = (!can_refuse || contains(a.block) || policy_.admits(a, view)) &&
              policy_.access(a, view);
      } else {
        hit = access_in(view, a);
      }
      hits[static_cast<std::size_t>(a.op)] += hit ? 1 : 0;
      if (!batch.hits.empty()) batch.hits[i] = hit ? 1 : 0;
    }
    counts.accesses += static_cast<Count>(blocks.size());
    counts.hits += hits[0] + hits[1];
    counts.writes += writes;
    counts.write_hits += hits[1];
  }

  P policy_;
  Directory<Index> directory_;
  [[no_unique_address]] Weights weights_;
};

// The index of a cache: its column of a shared table, or a table of its own.
inline DenseIndex index_for(const PolicySetup& setup) {
  if (setup.table == nullptr) return DenseIndex(setup.blocks);
  return {setup.table, setup.column, setup.first_block, setup.blocks};
}

// The cache under policy P as a TierCache; the registry of policies has one per policy. With
// weights, its capacity is in bytes.
template <class P, class Weights = EqualWeights>
class PolicyCacheOf final : public TierCache {
  static_assert(EvictionPolicy<P>,
                "this is not yet an eviction policy: the notes name what it lacks of the "
                "concept in core/engine/policy/eviction_policy.hpp");

 public:
  using Params = typename P::Params;
  static constexpr ComponentInfo kInfo = P::kInfo;

  PolicyCacheOf(const Params& params, const PolicySetup& setup)
      : params_(params), cache_(params, setup, index_for(setup)) {}

  absl::Status replay(const AccessBatch<>& batch) override {
    MCSIM_RETURN_IF_ERROR(batch.check());
    if (kNeedsNextUse<P> && batch.next_uses.size() != batch.blocks.size()) {
      return invalid_argument("{} needs the next use of every access", kInfo.name);
    }
    if (Weights::kVary && batch.weights.size() != batch.blocks.size()) {
      return invalid_argument("{} needs the size of every object", kInfo.name);
    }
    if (needs_times() && batch.times.size() != batch.blocks.size()) {
      return invalid_argument("{} needs the time of every access", kInfo.name);
    }
    Evictions sink{counts_.evictions};
    if constexpr (PolicyWithClock<P>) {
      if (ticks().period > 0) return replay_with_ticks(batch, sink);
    }
    cache_.replay(batch, counts_, sink);
    return absl::OkStatus();
  }

  // A hit has no victims.
  bool touch(const Access<>& a) override {
    NullSink null_sink;
    return cache_.touch(a, null_sink);
  }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    Victims sink{victims};
    cache_.access(a, sink);
  }
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override {
    Victims sink{victims};
    return cache_.admits(a, sink);
  }
  bool selective() const override { return cache_.refuses(); }
  Ticks ticks() const override {
    if constexpr (PolicyWithClock<P>) return cache_.policy().ticks();
    return {};
  }
  bool needs_times() const override { return PolicyWithClock<P> || cache_.reads_time(); }
  void tick(Nanoseconds time, BackgroundWork& work) override {
    if constexpr (PolicyWithClock<P>) {
      const std::size_t before = work.victims.size() + work.to_clean.size();
      cache_.tick(time, work);
      const std::size_t done = work.victims.size() + work.to_clean.size() - before;
      if (std::cmp_greater(done, ticks().budget) && failure_.ok()) {
        failure_ = internal_error("{}: a tick moved {} blocks, its budget is {}", kInfo.name, done,
                                  ticks().budget);
      }
    }
  }
  absl::Status failure() const override { return failure_; }
  bool take(BlockId block) override { return cache_.take(block); }
  using TierCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override {
    Victims sink{victims};
    cache_.resize(capacity, sink);
  }
  void prefetch_slot(BlockId block) const override { cache_.prefetch_slot(block); }

  [[gnu::flatten]] Arrival* serve(std::span<const Arrival> arrivals, Arrival* next,
                                  const ArrivalUses* uses) override {
    if (uses != nullptr && !kNeedsNextUse<P>) {
      return TierCache::serve(arrivals, next, uses);
    }
    VictimArrivals sink{.next = next, .first = next, .uses = uses};
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      // Slots are not prefetched: the parts of a host are small enough for the CPU caches.
      cache_.prefetch_index(arrivals[std::min(i + kIndexAhead, arrivals.size() - 1)].block());
      if constexpr (kNeedsNextUse<P>) {
        const std::size_t soon = std::min(i + kSlotAhead, arrivals.size() - 1);
        cache_.prefetch_use(uses->of_arrivals[soon]);
        prefetch_line(&uses->of_blocks[arrivals[soon].block()]);
      }

      const Arrival arrival = arrivals[i];
      if (arrival.kind() == Arrival::kWritten) {
        *next++ = arrival;
      } else if (arrival.kind() == Arrival::kTake) {
        const bool held = cache_.take(arrival.block());
        *next = held ? arrival.written() : arrival;
        next += !held || arrival.dirties() ? 1 : 0;
      } else {
        Access<> a{.block = arrival.block(), .op = arrival.op()};
        if constexpr (kNeedsNextUse<P>)
          a.next_use = uses->of_blocks[a.block] = uses->of_arrivals[i];
        sink.next = next;
        sink.number = arrival.number();
        if (arrival.kind() == Arrival::kAccess) *sink.next++ = arrival.taken();
        const bool hit = cache_.access(a, sink);
        if (!hit) {
          next = sink.next;
        } else {
          *next = arrival.written();
          next += arrival.dirties() ? 1 : 0;
        }
      }
    }
    return next;
  }

  bool contains(BlockId block) const override { return cache_.contains(block); }
  Count size() const override { return cache_.size(); }
  Count capacity() const override { return cache_.capacity(); }
  std::size_t bytes() const override { return cache_.bytes(); }
  bool needs_next_use() const override { return kNeedsNextUse<P>; }
  absl::Status check() const override { return cache_.check(); }

  absl::Status save(ArchiveWriter& to) override {
    if constexpr (SavablePolicy<P> && !Weights::kVary) {
      save_setup(to, kInfo.name, param_map(params_));
      to(cache_, next_tick_.value_or(kNoTick));
      return absl::OkStatus();
    } else {
      return refuse_state();
    }
  }
  absl::Status load(ArchiveReader& from) override {
    if constexpr (SavablePolicy<P> && !Weights::kVary) {
      MCSIM_RETURN_IF_ERROR(load_setup(from, kInfo.name, param_map(params_)));
      Nanoseconds next_tick = kNoTick;
      from(cache_, next_tick);
      MCSIM_RETURN_IF_ERROR(from.status());
      if (next_tick != kNoTick) next_tick_ = next_tick;
      return cache_.check();
    } else {
      return refuse_state();
    }
  }

 private:
  struct Evictions {
    Count& count;
    void evicted(BlockId) { ++count; }
  };
  struct Victims {
    std::vector<BlockId>& blocks;
    void evicted(BlockId block) { blocks.push_back(block); }
  };
  struct VictimArrivals {
    Arrival* next;
    Arrival* first;
    const ArrivalUses* uses;
    std::size_t number = 0;

    void evicted(BlockId block) {
      if constexpr (kNeedsNextUse<P>) uses->of_next[next - first] = uses->of_blocks[block];
      *next++ = Arrival(block, number, Arrival::kVictim);
    }
  };

  static absl::Status refuse_state() {
    return invalid_argument("{} {}, so its state cannot be saved", kInfo.name,
                            kNeedsNextUse<P> ? "uses the future" : "declares no state()");
  }

  // Call tick() at its times: before accesses at that time.
  absl::Status replay_with_ticks(const AccessBatch<>& batch, Evictions& sink) {
    const Nanoseconds period = ticks().period;
    for (std::size_t begin = 0; begin < batch.blocks.size();) {
      if (!next_tick_) next_tick_ = batch.times[begin] + period;
      for (; *next_tick_ <= batch.times[begin]; *next_tick_ += period) {
        BackgroundWork work;
        tick(*next_tick_, work);
        counts_.evictions += static_cast<Count>(work.victims.size());
      }
      const auto rest = batch.times.subspan(begin);
      const auto end = std::ranges::lower_bound(rest, *next_tick_) - rest.begin();
      cache_.replay(batch.part(begin, static_cast<std::size_t>(end)), counts_, sink);
      begin += static_cast<std::size_t>(end);
    }
    return failure_;
  }

  static constexpr Nanoseconds kNoTick = std::numeric_limits<Nanoseconds>::min();

  [[no_unique_address]] Params params_;
  Cache<P, DenseIndex, Weights> cache_;
  std::optional<Nanoseconds> next_tick_;  // of replay()
  absl::Status failure_;
};

}  // namespace mcsim
