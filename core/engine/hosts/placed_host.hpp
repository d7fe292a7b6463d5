#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/containers/block_queue.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"

namespace mcsim {

// An access of a request to an extent.
struct ExtentAccess {
  std::size_t extent;
  Op op;
  Count blocks;  // blocks of the request in the extent
  Count request_blocks;
  Count request_bytes;  // as recorded, if the trace keeps them; else the size of its blocks
};

// Space in the fastest tier that is not used for extents, and its limit on dirty blocks.
struct WriteArea {
  Count blocks = 0;
  Count most_dirty = 0;
};

// A write area of a share of the fastest tier; the dirty limit is a share of the area.
WriteArea write_area_of(const Machine& machine, double share, double high_water);
// The number of extents of this size that fit in each tier in addition to the write area.
std::vector<Count> extent_capacity(const WriteArea& area, const Machine& machine,
                                   Count extent_blocks);
// The VM of every extent.
std::vector<VmId> vms_of_extents(const Accesses& trace);

// A host that does not cache: every extent (a line of the trace) is in exactly one tier or in the
// backend. It is served there, and moves only if the system places it elsewhere. A move reads the
// extent from its old location and writes it to the new one. Extents have no second copy and are
// never dirty.
//
// An optional write area has copies of the blocks written to extents of the backend, dirty until
// they are written back. It serves these blocks until later writes need the space. If more blocks
// than the limit are dirty, the oldest dirty blocks are written back. Before an extent moves, all
// its blocks leave the area. Discarded blocks leave the area; extents stay where they are.
class PlacedHost final : public Host {
 public:
  // Called for every request and extent.
  using Watch = std::function<void(const ExtentAccess&)>;

  PlacedHost(const Machine& machine, const Accesses& trace, Watch watch, WriteArea area = {});

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override { return {Action::kPlacements}; }
  absl::Status resize(const Allocation& targets) override;
  absl::Status place(std::span<const Placement> moves) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override;
  absl::Status save(ArchiveWriter& to) override;
  absl::Status load(ArchiveReader& from) override;
  absl::Status check_invariants() const override;

 private:
  std::size_t backend() const { return capacity_.size(); }
  std::size_t vm_of(std::size_t extent) const {
    return owners_.vm_of(static_cast<BlockId>(extent * extent_blocks_));
  }
  void serve(VmCounters& vm, Op op, std::size_t tier, std::span<const BlockId> blocks);
  // Serve blocks of a backend extent with the write area. Return the slowest tier that served one,
  // or the backend. `is_first`: whether the blocks start with the first of their request.
  std::size_t serve_with_area(VmId vm, Op op, std::span<const BlockId> blocks, bool is_first,
                              MissedBlocks& missed);
  void write_to_area(VmId vm, BlockId block);
  // Remove the block from the area and increment the counter `as`.
  void leave_area(BlockId block, Count TierCounters::* as);
  void write_back(VmId vm, BlockId block);
  void clear_area(BlockId begin, BlockId end);
  absl::Status check_area() const;
  void move(std::size_t extent, std::size_t to);

  std::size_t extent_blocks_;
  BlockOwners owners_;
  Watch watch_;
  WriteArea area_;
  BlockQueue written_;               // the area's blocks, in order of their last write
  DirtyTracker dirty_;               // of the area
  std::vector<Count> capacity_;      // by tier: blocks for extents
  std::vector<Count> held_;          // by tier: blocks of extents
  std::vector<std::uint8_t> where_;  // by extent: its tier, or the backend
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
