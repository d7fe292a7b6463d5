#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/containers/bit_array.hpp"
#include "core/engine/caches/asking_cache.hpp"

namespace mcsim {

// Chooses victims where each call is dear, such as one into another language: it is
// told of many accesses at a time, and asked only when a block must leave.
class PolicyHooks {
 public:
  virtual ~PolicyHooks() = default;

  // For messages.
  virtual const std::string& name() const = 0;
  // Called once, before all others. Returns how many victims it is asked for at a time.
  virtual absl::StatusOr<std::size_t> start(const PolicySetup& setup) = 0;
  // What was accessed since the last call, in that order. Where `hits` is 0 the block
  // came into the slot, in place of the one that was there.
  virtual absl::Status accessed(std::span<const std::int64_t> slots,
                                std::span<const std::int64_t> blocks,
                                std::span<const std::uint8_t> hits) = 0;
  // Appends 1 to `count` slots to `victims`, in the order in which they are to leave.
  // All accesses so far were told.
  virtual absl::Status choose(std::size_t count, std::vector<std::int64_t>& victims) = 0;
  // Blocks that left these slots without being victims, in that order; told between the
  // accesses before and after. Not of those that were given up.
  virtual absl::Status removed(std::span<const std::int64_t> slots) = 0;
  // No more blocks than these may be in the cache from now on, nor ever more than those
  // of `start`, below which slots stay. All that happened so far was told.
  virtual absl::Status resized(Count capacity) = 0;
};

// A cache under hooks. The engine finds the blocks and counts; the hooks see every
// access before they choose if they are asked for one victim at a time. If for more,
// they choose those that leave next without knowing what comes in between: a block that
// was given up leaves even if it hits again, and its hits are counted but not told.
//
// A slot is a number below the capacity of the setup, above which the capacity cannot
// grow. When the hooks fail, any block leaves from then on.
class HookedCache final : public AskingCache {
 public:
  HookedCache(std::unique_ptr<PolicyHooks> hooks, const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  using AskingCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  std::size_t bytes() const override;
  absl::Status check() const override;

 private:
  // What happened and was not yet told: accesses, and after them removals.
  struct Untold {
    std::vector<std::int64_t> slots;
    std::vector<std::int64_t> blocks;
    std::vector<std::uint8_t> hits;
    std::vector<std::int64_t> removed;
  };

  // Does a step of what the hooks are needed for, unless they failed before.
  template <class Step>
  void attempt(Step&& step) {
    if (failure_.ok()) failure_ = step();
  }
  absl::Status start();
  void note(Slot slot, BlockId block, bool hit);
  // Out of the cache; what comes next may be in its slot.
  Slot evict(std::vector<BlockId>& victims);
  absl::StatusOr<Slot> next_victim();
  Slot any_block() const;
  absl::Status ask();
  absl::Status check_victim(std::int64_t victim) const;
  absl::Status tell();

  std::unique_ptr<PolicyHooks> hooks_;
  BitArray held_;  // by slot
  Untold untold_;
  std::size_t ahead_ = 0;              // victims asked for at a time; 0 before the start
  std::vector<std::int64_t> victims_;  // as chosen; those before `left_` have left
  std::size_t left_ = 0;
  BitArray given_up_;  // by slot: chosen, but still here
};

}  // namespace mcsim
