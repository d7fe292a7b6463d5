#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/hosts/writecache.hpp"

namespace mcsim {

struct WritecacheHostSetup {
  Count capacity = 0;  // of the cache device, in blocks of the trace
  WritecacheSetup cache;
  Jiffies hz = 100;
  Nanoseconds first = 0;  // the first request, since the boot of the kernel
  double rate = 0;        // requests per second; 0: those of the trace
};

// dm-writecache: one cache device in front of the devices of all VMs, which are one origin. All
// cached blocks are dirty. The VM waits for the origin at reads that miss, and at writes for which
// no cache block is free.
//
// Without addresses in the trace, the blocks of a VM are adjacent in the order of their ids.
//
// Discards remove blocks, as in the kernel. The blocks of a departed VM are written back and
// removed.
class WritecacheHost final : public Host {
 public:
  // Return the number of cache blocks on a device; the rest is metadata.
  static Count entries_on(Count capacity, Count block_bytes);

  WritecacheHost(const WritecacheHostSetup& setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  class Changes;

  // Number the blocks in the order of VMs and addresses.
  void number_blocks(const Accesses& trace);
  void read(VmId vm, std::span<const BlockId> blocks, MissedBlocks& missed);
  void write(VmId vm, std::span<const BlockId> blocks, MissedBlocks& missed);
  // Drop all copies of a block, and return their number.
  Count drop(BlockId block);
  void log(Op op, BlockId block) {
    if (backend_log_ != nullptr) backend_log_->push(op, block);
  }
  VmCounters& owner(BlockId block) { return counters_[owners_.vm_of(block)]; }

  WritecacheHostSetup setup_;
  BlockOwners owners_;
  Writecache cache_;
  std::vector<BlockId> block_of_;         // by number
  std::vector<std::uint32_t> number_of_;  // by block
  std::vector<std::uint32_t> numbers_;    // of the blocks of a request
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
