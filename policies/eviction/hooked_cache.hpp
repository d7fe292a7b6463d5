#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/containers/bit_array.hpp"
#include "core/engine/policy_cache.hpp"

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
};

// A cache under hooks. The engine finds the blocks and counts; the hooks see every
// access before they choose if they are asked for one victim at a time. If for more,
// they choose those that leave next without knowing what comes in between: a block that
// was given up leaves even if it hits again, and its hits are counted but not told.
//
// A slot is a number below the capacity. The capacity cannot change.
class HookedCache final : public PolicyCache {
 public:
  HookedCache(std::unique_ptr<PolicyHooks> hooks, const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;
  void resize(Count capacity) override;
  bool contains(BlockId block) const override { return directory_.find(block) != kNoSlot; }
  Count size() const override { return static_cast<Count>(directory_.size()); }
  Count capacity() const override { return setup_.capacity; }
  std::size_t bytes() const override;
  bool needs_next_use() const override { return false; }
  absl::Status check() const override;

 private:
  // What was accessed and not yet told.
  struct Untold {
    std::vector<std::int64_t> slots;
    std::vector<std::int64_t> blocks;
    std::vector<std::uint8_t> hits;
  };

  absl::Status start();
  absl::StatusOr<bool> access(BlockId block);
  absl::StatusOr<Slot> next_victim();
  absl::Status ask();
  absl::Status tell();

  std::unique_ptr<PolicyHooks> hooks_;
  PolicySetup setup_;
  Directory<DenseIndex> directory_;
  Untold untold_;
  std::size_t ahead_ = 0;              // victims asked for at a time; 0 before the start
  std::vector<std::int64_t> victims_;  // as chosen; those before `left_` have left
  std::size_t left_ = 0;
  BitArray given_up_;  // by slot: chosen, but still here
  absl::Status failure_;
};

}  // namespace mcsim
