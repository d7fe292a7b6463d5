#pragma once

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/host.hpp"
#include "core/engine/tier.hpp"
#include "core/engine/writes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// How blocks move between tiers.
enum class Chain : std::uint8_t {
  kExclusive,    // a block is in one tier: hits bring it up, victims go down
  kVictim,       // victims go down too, but a hit below leaves its copy there
  kInclusive,    // a block comes into all tiers, and leaves those above the one it leaves
  kIndependent,  // a block comes into all tiers, and each keeps it as it likes
};

template <>
struct Choices<Chain> {
  static constexpr std::array names{
      std::pair{"exclusive", Chain::kExclusive}, std::pair{"victim", Chain::kVictim},
      std::pair{"inclusive", Chain::kInclusive}, std::pair{"independent", Chain::kIndependent}};
};

struct WriteRules {
  std::vector<WriteMode> modes;  // by VM
  // Written around, a block that the cache has is updated instead of dropped.
  bool update_around = false;
  // More dirty blocks than this are written back at once, the oldest first.
  Count most_dirty = std::numeric_limits<Count>::max();
  // All dirty blocks are written back each time so much time has passed; 0: never.
  Nanoseconds flush_every = 0;
};

struct TieredSetup {
  Chain chain = Chain::kExclusive;
  std::vector<Tier> tiers;           // fastest first, at most kMaxTiers
  std::shared_ptr<SlotTable> table;  // of all tiers, each its column
  std::vector<std::size_t> part_of;  // by VM; the same in all tiers
  bool divided = false;              // whether targets may change
  WriteRules writes;
};

// Tiers under any policies, for VMs that share them or have parts of their own, with
// writes.
//
// A read is looked for from the fastest tier on, and comes into the tiers above the one
// that has it as the chain and their filters want. A block written through or back comes
// in as a read does. Victims that the chain demotes, and all that are dirty, go to the next
// tier that takes them; a dirty block that none takes, to the backend.
//
// Blocks are written whole: a write does not read. A tier that a block may not enter
// because its filter, or an empty target, refuses it is passed over.
class TieredHost final : public Host {
 public:
  // Accesses, or requests, that are dealt to parts together: the state of each part comes
  // into the processor's own caches but once a batch.
  static constexpr Count kBatch = 1 << 21;

  // The trace is the one that will be replayed.
  static absl::StatusOr<std::unique_ptr<Host>> make(TieredSetup setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status set_write_modes(std::span<const WriteMode> modes) override;
  void release(std::size_t vm) override;
  absl::Status failure() const override;
  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override;

 private:
  // Dealt accesses that go through a part's tiers together: what one tier leaves to the
  // next stays in the processor's own caches.
  static constexpr std::size_t kStretch = 1 << 12;

  // Instead of the VM that has a part for itself.
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kSeveral = kNobody - 1;

  // The request that is being served.
  struct Request {
    std::size_t vm = 0;
    Count blocks = 0;
  };
  // Which tier had the block of an access, the fastest and the slowest of those that have
  // its data now because of it, and what the VM waited for. The number of tiers stands
  // for none, and for the backend.
  struct Place {
    std::size_t found;
    std::size_t top;
    std::size_t low;
    std::size_t served_by;
  };
  // Accesses of a VM by operation and by where their blocks were found.
  struct Tally {
    std::array<std::array<Count, kMaxTiers + 1>, 2> found{};
  };

  // What of a VM came to a tier because no faster one had it, or had room for it.
  struct Came {
    std::array<Count, 2> accesses{};  // by operation
    std::array<Count, 2> requests{};
    Count victims = 0;
  };
  // What a range of requests of a VM did, by tier; then the backend, and nothing.
  struct Flow {
    std::array<Came, kMaxTiers + 2> came{};
  };

  // Steps, and if they must be known the next uses of their blocks.
  struct StepBuffer {
    Pages<ChainStep> steps;
    Pages<NextUse> uses;

    void reserve(std::size_t count, bool with_uses) {
      if (steps.size() < count) steps.extend(count);
      if (with_uses && uses.size() < count) uses.extend(count);
    }
  };

  TieredHost(TieredSetup setup, const Accesses& trace);

  bool simple() const;
  bool plain() const;
  bool one_way() const;
  void replay_tier_by_tier(const Accesses& trace, RequestRange range);
  void serve_batch(const Accesses& trace, RequestRange batch, std::span<Flow> flows);
  void deal(const Accesses& trace, RequestRange batch, std::span<Flow> flows);
  void serve_stretch(std::size_t part, std::size_t begin, std::size_t count,
                     std::span<const VmId> vms, std::span<Flow> flows);
  void count_step(ChainStep step, std::size_t tier, Came& came);
  void add(std::size_t vm, const Flow& flow);
  template <bool kPlain>
  void replay_as(const Accesses& trace, RequestRange range);
  Place write(const Request& request, const Access<>& a);
  Place write_through(const Request& request, const Access<>& a);
  Place write_to_cache(const Request& request, const Access<>& a);
  Place write_around(const Request& request, const Access<>& a);
  template <bool kPlain>
  Place fetch(const Request& request, const Access<>& a);
  template <bool kPlain>
  Place enter(const Request& request, const Access<>& a, std::size_t found, unsigned admitted);
  template <bool kPlain>
  void insert(std::size_t tier, const Request& request, const Access<>& a);
  template <bool kPlain>
  void leave(std::size_t tier, BlockId block, Count request_blocks);
  template <bool kPlain>
  bool push_down(std::size_t tier, const Request& owner, BlockId block, bool dirty);
  void drop_above(std::size_t tier, std::size_t vm, BlockId block);
  void update_from(std::size_t tier, std::size_t vm, BlockId block);

  void write_back(BlockId block);
  void flush();
  void drop(std::size_t vm, BlockId block);

  // The ids of a VM are from first_id_ on and below this.
  BlockId end_of_ids(std::size_t vm) const {
    return vm + 1 < first_id_.size() ? first_id_[vm + 1] : static_cast<BlockId>(blocks_);
  }
  std::size_t vm_of(BlockId block) const;
  bool dirty(BlockId block, std::size_t tier) const {
    return dirty_ && dirty_->contains(block, tier);
  }
  // Whether the tier may have the block: it has, or remembers it.
  bool has_slot(BlockId block, std::size_t tier) const {
    return table_->find(block, tier) != kNoSlot;
  }
  bool knows_future() const { return next_uses_.size() > 0; }
  NextUse& next_use(std::size_t tier, BlockId block) {
    return next_use_of_[tier * blocks_ + block / line_blocks_];
  }
  bool one_copy() const { return chain_ == Chain::kExclusive; }
  // Whether victims go down even if they are clean, and a block comes into one tier.
  bool demotes() const { return chain_ == Chain::kExclusive || chain_ == Chain::kVictim; }
  std::size_t backend() const { return tiers_.size(); }
  std::size_t part(std::size_t vm) const { return part_of_[vm]; }
  TierCounters& count(std::size_t vm, std::size_t tier) { return counters_[vm].tiers[tier]; }

  Chain chain_;
  std::vector<Tier> tiers_;
  std::shared_ptr<SlotTable> table_;
  std::vector<std::size_t> part_of_;
  std::vector<std::size_t> sole_vm_;  // by part
  bool divided_;
  std::size_t blocks_;
  std::uint32_t line_blocks_;
  WriteRules writes_;
  std::vector<BlockId> first_id_;     // by VM
  std::vector<VmCounters> counters_;  // but for what the tallies say
  std::vector<Tally> tallies_;        // by VM
  std::array<std::vector<BlockId>, kMaxTiers> victims_;
  // Of a batch that is served tier by tier: what is to be done in the fastest tier, part
  // after part, and where that of each part ends; in the tier that comes next, and in the
  // one below; and of each request, the slowest tier that had a block of it so far.
  StepBuffer first_steps_;
  std::vector<std::size_t> dealt_;
  StepBuffer steps_;
  StepBuffer next_steps_;
  std::vector<std::uint8_t> slowest_;
  std::unique_ptr<DirtyBlocks> dirty_;  // none before anything is written back
  Nanoseconds next_flush_;
  // For policies that must know the future: of each access; and by tier and line, of what
  // the tier holds.
  Pages<NextUse> next_uses_;
  Pages<NextUse> next_use_of_;
};

}  // namespace mcsim
