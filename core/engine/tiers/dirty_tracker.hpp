#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_queue.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/model/write_modes.hpp"
#include "core/engine/tiers/backend_log.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The number of copies of a block that the tiers of a host may have together.
enum class Copies : std::uint8_t { kOne, kSeveral };

// The write mode of each VM, the dirty blocks of a host (those newer than in the backend), and the
// time of the next flush.
//
// A block with one copy has one bit, which stays with the block when the copy moves. A block with
// several copies has a bit for each tier: a copy is dirty if it is newer than all copies below it.
// So a block may have two dirty versions. Modes may change at any time. The memory is not touched
// until a block becomes dirty.
//
// Memory: a bit for each block of the trace, or a byte with several copies, and 8 bytes for each
// dirty block if their order matters.
class DirtyTracker {
 public:
  DirtyTracker(WriteRules rules, const Accesses& trace, Copies copies);
  // Report write-backs to the log, which must outlive this object.
  void attach(BackendLog& log) { log_ = &log; }

  const WriteRules& rules() const { return rules_; }
  // The mode of a VM with the same mode in all tiers.
  WriteMode mode(std::size_t vm) const {
    assert(modes_[vm] != EffectiveWriteMode::kByTier);
    return static_cast<WriteMode>(modes_[vm]);
  }
  EffectiveWriteMode effective_mode(std::size_t vm) const { return modes_[vm]; }
  WriteMode mode(VmId vm, std::size_t tier) const {
    return effective_mode(vm) == EffectiveWriteMode::kByTier ? rules_.by_tier[tier][vm] : mode(vm);
  }
  bool all(WriteMode mode) const { return of_mode_[static_cast<std::size_t>(mode)] == vm_count(); }
  bool any(WriteMode mode) const { return of_mode_[static_cast<std::size_t>(mode)] > 0; }

  // Set one mode for each VM. Calls write_back(block), which must clean the block, for dirty blocks
  // of VMs that no longer write back.
  template <class WriteBack>
  absl::Status set_modes(std::span<const WriteMode> modes, const BlockOwners& owners,
                         WriteBack write_back) {
    MCSIM_RETURN_IF_ERROR(check_modes(modes));
    for (std::size_t vm = 0; vm < modes.size(); ++vm) {
      if (modes[vm] == WriteMode::kBack || tallies_[vm].dirty == 0) continue;
      for_each_dirty(owners.first_of(vm), owners.end_of(vm), write_back);
    }
    rules_.by_tier.clear();
    assign(modes);
    return absl::OkStatus();
  }
  // Set modes by tier and VM. Then calls settle(block) for dirty blocks of VMs with a tier that
  // does not write back: afterwards no copy in such a tier may be dirty.
  template <class Settle>
  void set_modes_by_tier(ModesByTier modes, const BlockOwners& owners, Settle settle) {
    assign_by_tier(std::move(modes));
    for (std::size_t vm = 0; vm < vm_count(); ++vm) {
      if (effective_mode(vm) == EffectiveWriteMode::kBack || tallies_[vm].dirty == 0) continue;
      for_each_dirty(owners.first_of(vm), owners.end_of(vm), settle);
    }
  }

  // flush_due: whether a flush must come before a request at this time; true once for each period.
  // next_flush: the first request of a range that needs a flush before it.
  bool flushes() const { return rules_.flush_every > 0; }
  bool flush_due(Nanoseconds time);
  std::size_t next_flush(const Accesses& trace, RequestRange range) const;

  Count count() const { return dirty_count_; }
  bool contains(BlockId block) const {
    return several() ? copies_[block] != 0 : (bits_[block / 64] >> (block % 64) & 1) != 0;
  }
  bool contains(BlockId block, std::size_t tier) const {
    return several() ? (copies_[block] & bit(tier)) != 0 : contains(block);
  }
  // Return whether a copy in a faster tier is dirty.
  bool dirty_above(BlockId block, std::size_t tier) const {
    return several() && (copies_[block] & (bit(tier) - 1)) != 0;
  }
  // The limit on dirty blocks; the oldest dirty block, if there is a limit or a flush period.
  bool limited() const { return rules_.most_dirty < std::numeric_limits<Count>::max(); }
  bool too_many() const { return dirty_count_ > rules_.most_dirty; }
  BlockId oldest() {
    assert(queue_ && dirty_count_ > 0);
    return queue_->front();
  }

  // Record that the VM wrote the tier's copy; return true if the block was clean.
  [[gnu::always_inline]] bool mark(VmId vm, BlockId block, std::size_t tier = 0) {
    const bool was_dirty = contains(block);
    if (several()) {
      copies_[block] |= bit(tier);
    } else {
      bits_[block / 64] |= std::uint64_t{1} << (block % 64);
    }
    if (was_dirty) return false;
    if (queue_) queue_->push(block);
    ++dirty_count_;
    ++tallies_[vm].dirty;
    ++tallies_[vm].dirtied;
    return true;
  }
  // Undo mark() for a block that was clean and entered no tier.
  void unmark(VmId vm, BlockId block) {
    clean(vm, block);
    --tallies_[vm].dirtied;
  }
  // Record that the newest copy was written to the backend.
  void write_back(VmId vm, BlockId block) {
    if (log_ != nullptr) log_->push(Op::kWrite, block);
    clean(vm, block);
    ++tallies_[vm].write_backs;
  }
  // Record that a block was discarded; a dirty block becomes clean without a write-back.
  void discard(VmId vm, BlockId block) {
    if (!contains(block)) return;
    clean(vm, block);
    ++tallies_[vm].discarded;
  }
  // move: the dirty copy is in another tier now. outdate: a faster tier has newer data.
  void move(BlockId block, std::size_t from, std::size_t to) {
    if (!several()) return;
    assert(contains(block, from));
    copies_[block] = static_cast<std::uint8_t>((copies_[block] & ~bit(from)) | bit(to));
  }
  void outdate(BlockId block, std::size_t tier) {
    copies_[block] &= static_cast<std::uint8_t>(~bit(tier));
  }

  void prefetch(BlockId block) const {
    several() ? prefetch_line(&copies_[block]) : prefetch_line(&bits_[block / 64]);
  }
  void add_counts(std::size_t vm, VmCounters& of) const;

  void save(ArchiveWriter& to);
  void load(ArchiveReader& from);

 private:
  struct Tally {
    Count dirty = 0;
    Count dirtied = 0;
    Count write_backs = 0;
    Count discarded = 0;
  };

  static constexpr std::uint8_t bit(std::size_t tier) {
    return static_cast<std::uint8_t>(1U << tier);
  }
  std::size_t vm_count() const { return tallies_.size(); }
  bool several() const { return copies_.size() > 0; }
  absl::Status check_modes(std::span<const WriteMode> modes) const;
  void assign(std::span<const WriteMode> modes);
  void assign_by_tier(ModesByTier modes);

  void clean(VmId vm, BlockId block) {
    assert(contains(block) && tallies_[vm].dirty > 0);
    if (several()) {
      copies_[block] = 0;
    } else {
      bits_[block / 64] &= ~(std::uint64_t{1} << (block % 64));
    }
    if (queue_) queue_->erase(block);
    --dirty_count_;
    --tallies_[vm].dirty;
  }
  // Skip clean words, since most blocks are clean. `visit` may clean the block.
  template <class Visit>
  void for_each_dirty(BlockId begin, BlockId end, Visit visit) const {
    const std::uint32_t word = several() ? 8 : 64;
    for (BlockId block = begin; block < end; ++block) {
      if (block % word == 0 && clean_word(block)) {
        block = BlockId(block + word - 1);
      } else if (contains(block)) {
        visit(block);
      }
    }
  }
  bool clean_word(BlockId first) const {
    std::uint64_t marks = 0;
    if (!several()) return bits_[first / 64] == marks;
    std::memcpy(&marks, &copies_[first], sizeof(marks));
    return marks == 0;
  }

  std::size_t id_count_;
  WriteRules rules_;
  std::vector<EffectiveWriteMode> modes_;  // by VM
  std::array<std::size_t, 3> of_mode_{};   // number of VMs with this mode in all tiers
  Nanoseconds begin_;                      // of the trace
  std::uint64_t next_flush_;               // since begin_
  Pages<std::uint64_t> bits_;              // by block, with one copy
  Pages<std::uint8_t> copies_;             // by block, with several copies: a bit per tier
  std::optional<BlockQueue> queue_;
  Count dirty_count_ = 0;
  BackendLog* log_ = nullptr;
  std::vector<Tally> tallies_;  // by VM
};

}  // namespace mcsim
