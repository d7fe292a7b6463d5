#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/containers/block_queue.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"

namespace mcsim {

// A request that touched an extent.
struct ExtentAccess {
  std::size_t extent;
  Op op;
  Count blocks;  // of the request that lie in the extent
  Count request_blocks;
  Count request_bytes;  // as recorded, if the trace keeps them; else of these blocks
};

// Blocks of the fastest tier that are no extent's, and how many of them may be dirty.
struct WriteArea {
  Count blocks = 0;
  Count most_dirty = 0;
};

// That of a share of the fastest tier, and of a share of these blocks.
WriteArea write_area_of(const Machine& machine, double share, double high_water);
// How many extents of so many blocks fit in each tier beside it.
std::vector<Count> rooms_beside(const WriteArea& area, const Machine& machine, Count extent_blocks);
// The VM of every extent.
std::vector<VmId> vms_of_extents(const Accesses& trace);

// A host that caches nothing: every extent, which is a line of the trace, lives in one tier or in
// the backend, serves there what is asked of it, and moves when it is told to. What it brings in
// was read from where it was, what it takes out is written there; nothing is dirty, for there is
// one copy of everything.
//
// But for a write area, if it has one. That takes the blocks that are written to extents of the
// backend, and serves them until others that were written later need the space. Dirty ones beyond
// the limit are written back, the one first that became so first; all of an extent, before it
// moves. A discarded block leaves the area; extents stay where they are.
class PlacedHost final : public Host {
 public:
  // Is shown every request, extent by extent.
  using Watch = std::function<void(const ExtentAccess&)>;

  PlacedHost(const Machine& machine, const Accesses& trace, Watch watch, WriteArea area = {});

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override { return {Action::kPlacements}; }
  absl::Status resize(const Allocation& targets) override;
  absl::Status place(std::span<const Placement> moves) override;
  void attach_log(BackendLog& log) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override;

 private:
  std::size_t backend() const { return capacity_.size(); }
  std::size_t vm_of(std::size_t extent) const {
    return owners_.vm_of(static_cast<BlockId>(extent * extent_blocks_));
  }
  void serve(VmCounters& vm, Op op, std::size_t tier, std::span<const BlockId> blocks);
  // The tier, or the backend, that served the slowest of these blocks of the backend.
  // `is_first`: whether they are the first of their request.
  std::size_t serve_beside(VmId vm, Op op, std::span<const BlockId> blocks, bool is_first,
                           MissedBlocks& missed);
  void write_to_area(VmId vm, BlockId block);
  // The block leaves the area, and is counted as that.
  void leave_area(BlockId block, Count TierCounters::* as);
  void write_back(VmId vm, BlockId block);
  void clear_area(BlockId begin, BlockId end);
  absl::Status check_area() const;
  void move(std::size_t extent, std::size_t to);

  std::size_t extent_blocks_;
  BlockOwners owners_;
  Watch watch_;
  WriteArea area_;
  BlockQueue written_;               // the area's blocks, the one written last last
  DirtyTracker dirty_;               // of the area
  std::vector<Count> capacity_;      // by tier, blocks for extents
  std::vector<Count> held_;          // by tier, blocks of extents
  std::vector<std::uint8_t> where_;  // by extent: its tier, or the backend
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
