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

#include "core/base/choices.hpp"
#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_queue.hpp"
#include "core/engine/run/counters.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/trace/accesses.hpp"

// What becomes of writes.
namespace mcsim {

enum class WriteMode : std::uint8_t {
  kThrough,  // into the cache and to the backend, which the VM waits for
  kBack,     // into the cache; to the backend when the block leaves it or is flushed
  kAround,   // to the backend alone: the cache is for reads, and copies in it are dropped
};

template <>
struct Choices<WriteMode> {
  static constexpr std::array names{std::pair{"through", WriteMode::kThrough},
                                    std::pair{"back", WriteMode::kBack},
                                    std::pair{"around", WriteMode::kAround}};
};

// Modes by tier and VM, for hosts whose tiers are written each in its own way (TieredHost).
using ModesByTier = std::vector<std::vector<WriteMode>>;

struct WriteRules {
  std::vector<WriteMode> modes;  // by VM, the same in all tiers
  ModesByTier by_tier = {};      // instead of them; or empty
  // Written around, a block that the cache has is updated instead of dropped.
  bool update_around = false;
  // More dirty blocks than this are written back at once, the oldest first.
  Count most_dirty = std::numeric_limits<Count>::max();
  // All dirty blocks are written back each time so much time has passed; 0: never.
  Nanoseconds flush_every = 0;
};

// How many copies of a block the tiers of a host may have together.
enum class Copies : std::uint8_t { kOne, kSeveral };

// What a host knows of its writes: the mode of each VM, which blocks are dirty, that is newer
// than what the backend has, how many of each VM, and when all are due to be written back.
//
// Where a block has one copy, a bit tells that it is dirty, wherever that copy goes. Where it
// has several, each that is newer than everything below it is dirty, a bit a tier: such a
// block is in two versions at once. Nothing of this is touched before something is written
// back, so that modes may change at any time and cost nothing until they do.
//
// A VM has one mode for all tiers, unless they were set by tier and differ: then the book says
// so, and what becomes of its writes is for the host to say.
//
// A bit a block of the trace, or a byte with several copies, and 8 bytes a dirty block where their
// order matters.
class WriteBook {
 public:
  WriteBook(WriteRules rules, const Accesses& trace, Copies copies);

  const WriteRules& rules() const { return rules_; }
  // Of a VM, where it is the same in all tiers.
  WriteMode mode(std::size_t vm) const {
    assert(ways_[vm] != Way::kByTier);
    return static_cast<WriteMode>(ways_[vm]);
  }
  // The same, or that it is not.
  enum class Way : std::uint8_t {
    kThrough = static_cast<std::uint8_t>(WriteMode::kThrough),
    kBack = static_cast<std::uint8_t>(WriteMode::kBack),
    kAround = static_cast<std::uint8_t>(WriteMode::kAround),
    kByTier
  };
  Way way(std::size_t vm) const { return ways_[vm]; }
  WriteMode mode(VmId vm, std::size_t tier) const {
    return way(vm) == Way::kByTier ? rules_.by_tier[tier][vm] : mode(vm);
  }
  bool all(WriteMode mode) const { return of_mode_[static_cast<std::size_t>(mode)] == vm_count(); }
  bool any(WriteMode mode) const { return of_mode_[static_cast<std::size_t>(mode)] > 0; }

  // New modes, one a VM, for all tiers. Calls write_back(block) for what is dirty of VMs that no
  // longer write back, which it must then not be any more.
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
  // New modes by tier and VM. Then calls settle(block) for what is dirty of VMs with a tier that
  // does not write back: no copy in such a tier must be dirty any more.
  template <class Settle>
  void set_modes_by_tier(ModesByTier modes, const BlockOwners& owners, Settle settle) {
    assign_by_tier(std::move(modes));
    for (std::size_t vm = 0; vm < vm_count(); ++vm) {
      if (way(vm) == Way::kBack || tallies_[vm].dirty == 0) continue;
      for_each_dirty(owners.first_of(vm), owners.end_of(vm), settle);
    }
  }

  // Whether all dirty blocks are to be written back before a request at this time, which says
  // yes once a period; and the first request of a range before which they will have to be.
  bool flushes() const { return rules_.flush_every > 0; }
  bool flush_due(Nanoseconds time);
  std::size_t next_flush(const Accesses& trace, RequestRange range) const;

  Count dirty() const { return dirty_count_; }
  bool dirty(BlockId block) const {
    return several() ? copies_[block] != 0 : (bits_[block / 64] >> (block % 64) & 1) != 0;
  }
  bool dirty(BlockId block, std::size_t tier) const {
    return several() ? (copies_[block] & bit(tier)) != 0 : dirty(block);
  }
  // Whether a copy faster than the tier's is dirty.
  bool dirty_above(BlockId block, std::size_t tier) const {
    return several() && (copies_[block] & (bit(tier) - 1)) != 0;
  }
  // Whether there is a limit, and more than it allows; and the one that became dirty first,
  // where there is a limit or they are flushed.
  bool limited() const { return rules_.most_dirty < std::numeric_limits<Count>::max(); }
  bool too_many() const { return dirty_count_ > rules_.most_dirty; }
  BlockId oldest() { return queue_->front(); }

  // The VM wrote the copy that the tier has; true if the block was clean.
  [[gnu::always_inline]] bool mark(VmId vm, BlockId block, std::size_t tier = 0) {
    const bool was_dirty = dirty(block);
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
  // As if the block had not been marked: it was clean, and comes into no tier.
  void unmark(VmId vm, BlockId block) {
    clean(vm, block);
    --tallies_[vm].dirtied;
  }
  // The backend has what the block's newest copy has.
  void write_back(VmId vm, BlockId block) {
    clean(vm, block);
    ++tallies_[vm].write_backs;
  }
  // The newest data of a tier is in another one now; or there is newer data above it.
  void move(BlockId block, std::size_t from, std::size_t to) {
    if (!several()) return;
    copies_[block] = static_cast<std::uint8_t>((copies_[block] & ~bit(from)) | bit(to));
  }
  void outdate(BlockId block, std::size_t tier) {
    copies_[block] &= static_cast<std::uint8_t>(~bit(tier));
  }

  void prefetch(BlockId block) const {
    several() ? prefetch_line(&copies_[block]) : prefetch_line(&bits_[block / 64]);
  }
  void count(std::size_t vm, VmCounters& of) const;

 private:
  struct Tally {
    Count dirty = 0;
    Count dirtied = 0;
    Count write_backs = 0;
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
    if (several()) {
      copies_[block] = 0;
    } else {
      bits_[block / 64] &= ~(std::uint64_t{1} << (block % 64));
    }
    if (queue_) queue_->erase(block);
    --dirty_count_;
    --tallies_[vm].dirty;
  }
  // By words: most blocks are clean. What is visited may become clean.
  template <class Visit>
  void for_each_dirty(BlockId begin, BlockId end, Visit visit) const {
    const std::uint32_t word = several() ? 8 : 64;
    for (BlockId block = begin; block < end; ++block) {
      if (block % word == 0 && clean_word(block)) {
        block = BlockId(block + word - 1);
      } else if (dirty(block)) {
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

  WriteRules rules_;
  std::vector<Way> ways_;                 // by VM
  std::array<std::size_t, 3> of_mode_{};  // VMs that have it in all tiers
  Nanoseconds begin_;                     // of the trace
  std::uint64_t next_flush_;              // since then
  Pages<std::uint64_t> bits_;             // by block, where it has one copy
  Pages<std::uint8_t> copies_;            // by block, a bit a tier, where it may have several
  std::optional<BlockQueue> queue_;
  Count dirty_count_ = 0;
  std::vector<Tally> tallies_;  // by VM
};

}  // namespace mcsim
