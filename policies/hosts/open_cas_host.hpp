#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/hosts/open_cas.hpp"

namespace mcsim {

struct OpenCasHostSetup {
  OpenCasSetup cache;
  Nanoseconds phase = 0;  // from the creation of the cache to the first request
  double rate = 0;        // requests per second; 0: those of the trace
};

// Open CAS: one cache device in front of the devices of all VMs, which are its core devices. Cache
// lines are lines of the trace; a line may have some of its blocks.
//
// A request that misses in part reads all of its blocks from the backend, and so does a request
// that passes by the cache: none of its blocks hit. The VM waits for the backend at misses, and at
// writes unless they stay in the cache.
//
// Without addresses in the trace, the blocks of a VM are adjacent in the order of their ids.
//
// Discards remove blocks. The lines of a departed VM are written back if they are dirty, and
// removed.
class OpenCasHost final : public Host {
 public:
  // Return the number of lines on a device with metadata, or 0 if Open CAS refuses the device.
  static Count lines_on(Count device_bytes, Count line_bytes);

  OpenCasHost(const OpenCasHostSetup& setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  class Changes;

  OpenCasRequest request_in(const Accesses& trace, std::size_t request) const;
  void split(std::span<const BlockId> blocks);
  void count(VmId vm, Op op, std::span<const BlockId> blocks, OpenCasOutcome outcome,
             MissedBlocks& missed);
  void log(Op op, std::span<const BlockId> blocks);
  VmCounters& owner(std::uint32_t line) {
    return counters_[owners_.vm_of(static_cast<BlockId>(line * line_blocks_))];
  }

  OpenCasHostSetup setup_;
  std::uint32_t line_blocks_;
  BlockOwners owners_;
  OpenCas cache_;
  SharedArray<std::uint64_t> address_;  // by block; empty without addresses
  std::vector<OpenCasPart> parts_;      // of a request
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
