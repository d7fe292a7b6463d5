#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/hosts/bcache_buckets.hpp"
#include "policies/hosts/bcache_cleaner.hpp"
#include "policies/hosts/sequential_streams.hpp"

namespace mcsim {

enum class BcacheWrites : std::uint8_t { kThrough, kAround, kBack };

template <>
struct Choices<BcacheWrites> {
  static constexpr std::array names{std::pair{"through", BcacheWrites::kThrough},
                                    std::pair{"around", BcacheWrites::kAround},
                                    std::pair{"back", BcacheWrites::kBack}};
};

struct BcacheSetup {
  Count capacity = 0;  // of the cache device, in blocks of the trace
  Count bucket_bytes = 0;
  Count cache_block_bytes = 512;
  BcacheWrites writes = BcacheWrites::kThrough;
  Count sequential_cutoff = 0;  // bytes; 0: off
  Count writeback_percent = 10;
  Nanoseconds writeback_delay = 30 * kSecond;
  bool is_sync = true;
  double rate = 0;  // requests per second; 0: those of the trace
};

// bcache: one cache device in front of the devices of all VMs. A VM is a task with a device of its
// own. The rules of a request are those of drivers/md/bcache/request.c.
//
// Reads of a request that are partly cached read the rest from the backend; only the first gap is
// inserted. A write that bypasses the cache removes its blocks and counts as a miss. The VM waits
// for the backend at misses, and at writes unless they are written back.
//
// Without addresses in the trace, the blocks of a VM are adjacent in the order of their ids.
//
// Discards remove blocks, as in the kernel. The blocks of a departed VM are written back if they
// are dirty, and removed.
class BcacheHost final : public Host {
 public:
  BcacheHost(const BcacheSetup& setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

  BcacheBuckets::Usage usage() const { return buckets_.usage(); }

 private:
  class Changes;

  // Number the blocks in the order of VMs and addresses.
  void number_blocks(const Accesses& trace);
  RequestContext context_in(const Accesses& trace, std::size_t request) const;
  bool bypasses(const RequestContext& request);
  void read(VmId vm, std::span<const BlockId> blocks, bool bypass, MissedBlocks& missed);
  void write(VmId vm, std::span<const BlockId> blocks, bool bypass, MissedBlocks& missed);
  // Count a removed block; its data are dropped if it was dirty.
  void note_removed(BlockId block, BcacheBuckets::BlockState before);
  void write_back(BlockId block);
  void log(Op op, BlockId block) {
    if (backend_log_ != nullptr) backend_log_->push(op, block);
  }
  VmCounters& owner(BlockId block) { return counters_[owners_.vm_of(block)]; }

  BcacheSetup setup_;
  BlockOwners owners_;
  BcacheBuckets buckets_;
  BcacheCleaner cleaner_;
  SequentialStreams streams_;
  std::vector<BlockId> block_of_;         // by number; empty unless the mode is back
  std::vector<std::uint32_t> number_of_;  // by block
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
