#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/containers/max_tracker.hpp"
#include "core/engine/model/division.hpp"
#include "core/engine/policy/tier_cache.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/partitioned_lru.hpp"

namespace mcsim {

// One tier of a host: a cache under some eviction policy for each part, and the admission filter. A
// part is the space of one VM, or of a group of VMs. The capacity of each cache follows from its
// target and the division rules; together they never hold more than the tier. Parts under LRU may
// be stored together in PartitionedLru.
class Tier {
 public:
  struct Part {
    std::unique_ptr<TierCache> cache;  // empty at first; made for the largest capacity it can get
    Count target = 0;
  };

  // Without a filter, every block is admitted. Targets sum to at most the capacity.
  Tier(Count capacity, std::vector<Part> parts, DivisionRules rules,
       std::unique_ptr<AdmissionFilter> filter);
  // All parts under LRU, empty, without a filter.
  Tier(Count capacity, std::span<const Count> targets, PartitionedLru parts, DivisionRules rules);

  Count capacity() const { return capacity_; }
  Count target(std::size_t part) const { return parts_[part].target; }
  bool holds(std::size_t part, const auto& block) const {
    return lru_ ? lru_->holds(block) : parts_[part].cache->contains(block);
  }

  // Record that an access requests the block from this tier.
  void record(const Access<>& a) {
    if (filter_) filter_->record(a);
  }
  // Serve an access if the block is held; otherwise return false.
  [[gnu::always_inline]] bool touch(std::size_t part, const Access<>& a) {
    return lru_ ? lru_->touch(part, a.block) : parts_[part].cache->touch(a);
  }
  // Remove a block that is not a victim; return false if it was not held.
  [[gnu::always_inline]] bool take(std::size_t part, const auto& block) {
    if (!(lru_ ? lru_->take(part, block) : parts_[part].cache->take(block))) return false;
    count_leaving(part);
    return true;
  }
  // Remove a discarded block, or a block of a departed VM.
  bool discard(std::size_t part, BlockId block) {
    if (!(lru_ ? lru_->take(part, block) : parts_[part].cache->discard(block))) return false;
    count_leaving(part);
    return true;
  }

  // Return whether a block that is not held is admitted and has space.
  bool admits(std::size_t part, const Access<>& a) {
    return has_room(part) && (!has_filter() || is_accepted(part, a));
  }
  bool reads_addresses() const { return filter_ && filter_->reads_addresses(); }
  // Whether the policy may refuse blocks.
  bool refuses() const { return selective_; }
  // Move the victims of refusals since the last call to `victims`.
  bool has_refused_victims() const { return !refused_victims_.empty(); }
  void take_refused_victims(std::vector<BlockId>& victims) { victims.swap(refused_victims_); }

  // The clock of the policy, and its work in the background.
  Ticks ticks() const { return lru_ ? Ticks{} : parts_[0].cache->ticks(); }
  bool needs_times() const { return !lru_ && parts_[0].cache->needs_times(); }
  void tick(Nanoseconds time, BackgroundWork& work);

  // The data that the filter staged without admitting it.
  std::optional<Count> staged_ns() const { return filter_ ? filter_->staged_ns() : std::nullopt; }
  bool has_data(BlockId block) const { return filter_->has_data(block); }
  void drop_data(BlockId block) { filter_->drop_data(block); }
  // Whether parts use space that others leave, and return it block by block.
  bool lends_space() const { return rules_.mode == ResizeMode::kLazy; }
  // Whether a block of the part can be inserted and stay: the part has a target, or it shares a
  // tier that is not full or in which the next victim would be another block.
  [[gnu::always_inline]] bool has_room(std::size_t part) {
    if (!lends_space()) return parts_[part].target > 0;
    return held_ < capacity_ || (capacity_ > 0 && (size(part) > 0 || has_other_donor(part)));
  }
  // Insert a block that this tier does not hold into a part that has space. The victims, possibly
  // of other parts, are appended.
  void insert(std::size_t part, const Access<>& a, std::vector<BlockId>& victims) {
    if (!lru_ || shares_space()) return enter(part, a, victims);
    const Victim victim = insert_in_log(part, a.block);
    if (victim.block != kNoBlock) victims.push_back(victim.block);
  }
  // The same for a tier with only_logs(). `next`, if given, is set to a block that may be the next
  // victim.
  [[gnu::always_inline]] bool touch_in_log(std::size_t part, const auto& block) {
    return lru_->touch(part, block);
  }
  struct Victim {
    BlockId block;  // or kNoBlock
    bool own;       // a block of the same part
  };
  [[gnu::always_inline]] Victim insert_in_log(std::size_t part, const auto& block,
                                              BlockId* next = nullptr) {
    if (lends_space()) return insert_lazily(part, block, next);
    const BlockId victim = lru_->insert(part, block, next);
    held_ += victim == kNoBlock ? 1 : 0;
    return {victim, true};
  }
  // Set new targets, one per part, that sum to at most the capacity.
  void retarget(std::span<const Count> targets, std::vector<BlockId>& victims);

  // Whether the caches have a column of the slot table; and prefetch for an access to a block
  // there.
  bool has_slots() const { return !lru_; }
  void prefetch_slot(std::size_t part, BlockId block) const {
    parts_[part].cache->prefetch_slot(block);
  }
  // For tiers without slots: a block that may soon be a victim of the part.
  BlockId peek_victim(std::size_t part) const { return lru_->peek_victim(part); }

  // Whether the policy of each part alone decides on insertions and evictions, so that a part can
  // process a batch.
  bool independent_parts() const {
    return rules_.mode == ResizeMode::kEager && !has_filter() && !lru_;
  }
  // Whether the tier is LRU in logs with at most one victim per insertion; and a hint to the
  // compiler that it is.
  bool only_logs() const { return lru_ && rules_.mode != ResizeMode::kStrictOwn && !has_filter(); }
  void assume_only_logs() const {
    if (!only_logs()) __builtin_unreachable();
  }
  TierCache& cache(std::size_t part) { return *parts_[part].cache; }
  // To be called after such batches.
  void count_held();
  bool empty() const { return held_ == 0; }

  // Whether blocks may be rejected although there is space.
  bool has_filter() const { return filter_ != nullptr || selective_; }
  absl::Status failure() const;
  bool needs_next_use() const { return !lru_ && parts_[0].cache->needs_next_use(); }
  std::size_t bytes() const;
  absl::Status check() const;

  // Save the caches, the targets and the filter, or load them into a fresh tier.
  absl::Status save(ArchiveWriter& to);
  absl::Status load(ArchiveReader& from);

 private:
  Count size(std::size_t part) const {
    return lru_ ? lru_->size(part) : parts_[part].cache->size();
  }
  Count room(std::size_t part) const {
    return lru_ ? lru_->capacity(part) : parts_[part].cache->capacity();
  }
  void resize(std::size_t part, Count room, std::vector<BlockId>& victims) {
    lru_ ? lru_->resize(part, room, victims) : parts_[part].cache->resize(room, victims);
  }
  [[gnu::always_inline]] void count_leaving(std::size_t part) {
    --held_;
    if (shares_space()) excess_.add(part, -1);
  }
  absl::Status load_logs(ArchiveReader& from);
  absl::Status load_caches(ArchiveReader& from);
  void set_initial_capacities();
  bool is_accepted(std::size_t part, const Access<>& a);
  void count_evicted(std::size_t part, std::span<const BlockId> victims);
  void enter(std::size_t part, const Access<>& a, std::vector<BlockId>& victims);
  // Whether a part may hold more than its target, or less although it could use more.
  bool shares_space() const { return rules_.mode != ResizeMode::kEager; }
  bool has_other_donor(std::size_t part);
  Victim insert_lazily(std::size_t part, BlockId block, BlockId* next);
  void ensure_space(std::size_t part, std::vector<BlockId>& victims);
  // The part that evicts a block when `part` inserts one into a full tier.
  [[gnu::always_inline]] std::size_t donor_for(std::size_t part) {
    if (rules_.victim == VictimRule::kFirstOver) [[unlikely]]
      return first_over_for(part);
    return excess_.first_with_one_more(part);
  }
  std::size_t first_over_for(std::size_t part);
  void count_excess(std::size_t part) {
    if (shares_space()) excess_.set(part, excess(size(part), parts_[part].target));
  }

  Count capacity_;
  Count held_ = 0;
  std::vector<Part> parts_;
  std::optional<PartitionedLru> lru_;  // if set, parts have no caches of their own
  DivisionRules rules_;
  std::unique_ptr<AdmissionFilter> filter_;
  bool selective_;
  std::vector<BlockId> refused_victims_;  // evicted by admits() of the policy
  // By part: blocks in excess of its target, if parts share space; negative below the target.
  // Targets sum to at most the capacity. So in a full tier with an insertion, at least one part
  // exceeds its target.
  MaxTracker excess_;
};

}  // namespace mcsim
