#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/containers/bit_array.hpp"
#include "core/engine/caches/callback_cache.hpp"

namespace mcsim {

// A policy for which each call is expensive, such as a call into another language: accesses are
// reported in batches, and victims are requested only if a block must leave.
class PolicyHooks {
 public:
  virtual ~PolicyHooks() = default;

  // The name for messages.
  virtual const std::string& name() const = 0;
  // Called once, before all others. Return the number of victims to request at a time.
  virtual absl::StatusOr<std::size_t> start(const PolicySetup& setup) = 0;
  // Process the accesses since the last call, in their order. Where `hits` is 0, the block was
  // inserted into the slot and replaced its former block.
  virtual absl::Status accessed(std::span<const std::int64_t> slots,
                                std::span<const std::int64_t> blocks,
                                std::span<const std::uint8_t> hits) = 0;
  // Append 1 to `count` slots to `victims`, in the order of their eviction. All accesses so far
  // have been reported.
  virtual absl::Status choose(std::size_t count, std::vector<std::int64_t>& victims) = 0;
  // Process the removal of blocks that were not victims, in their order. Called between the
  // accesses before and after. Victims already chosen are not reported.
  virtual absl::Status removed(std::span<const std::int64_t> slots) = 0;
  // Process a new capacity, at most that of `start`, which still limits the slot numbers. All
  // events so far have been reported.
  virtual absl::Status resized(Count capacity) = 0;
};

// A cache under PolicyHooks. The engine finds the blocks and counts. If one victim at a time is
// requested, the hooks see every access before they choose. If several are requested, they choose
// the next victims without the accesses in between. A chosen block is evicted even if it is hit
// again; its hits are counted but not reported.
//
// Slot numbers are below the capacity of the setup; the capacity cannot grow above it. After an
// error of the hooks, arbitrary blocks are evicted.
class HookedCache final : public CallbackCache {
 public:
  HookedCache(std::unique_ptr<PolicyHooks> hooks, const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  using CallbackCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  std::size_t bytes() const override;
  absl::Status check() const override;

 private:
  // Events not yet reported: accesses, and after them removals.
  struct Unreported {
    std::vector<std::int64_t> slots;
    std::vector<std::int64_t> blocks;
    std::vector<std::uint8_t> hits;
    std::vector<std::int64_t> removed;
  };

  // Run a step with calls of the hooks, unless they failed before.
  template <class Step>
  void attempt(Step&& step) {
    if (failure_.ok()) failure_ = step();
  }
  absl::Status start();
  void record(Slot slot, BlockId block, bool hit);
  // Evict a block; the next insertion may reuse its slot.
  Slot evict(std::vector<BlockId>& victims);
  absl::StatusOr<Slot> next_victim();
  Slot any_block() const;
  absl::Status request_victims();
  absl::Status check_victim(std::int64_t victim) const;
  absl::Status report();

  std::unique_ptr<PolicyHooks> hooks_;
  BitArray held_;  // by slot
  Unreported unreported_;
  std::size_t ahead_ = 0;              // victims to request at a time; 0 before the start
  std::vector<std::int64_t> victims_;  // in order of choice; those before `left_` have left
  std::size_t left_ = 0;
  BitArray chosen_;  // by slot: chosen as victim, but still held
};

}  // namespace mcsim
