#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/hosts/zfs_arc.hpp"

namespace mcsim {

struct ZfsArcHostSetup {
  Count capacity = 0;  // in blocks of the trace
  ZfsArcSetup arc;     // without records and their size
  double rate = 0;     // requests per second; 0: those of the trace
};

// The ARC of OpenZFS: memory in front of the datasets of all VMs. Records are lines of the trace.
// A request is served record by record.
//
// A record that misses is read as a whole. The VM waits for the backend at reads that miss, and at
// writes of a part of a record that is not cached. Written records go to the backend at once, as a
// whole; the VM does not wait for them.
//
// Discards change nothing. The records of a departed VM are forgotten.
class ZfsArcHost final : public Host {
 public:
  ZfsArcHost(const ZfsArcHostSetup& setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId>) override {}
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  class Changes;

  bool read(VmId vm, std::span<const BlockId> blocks, Nanoseconds time);
  // Return whether the VM waited for the backend.
  bool write(VmId vm, std::span<const BlockId> blocks, Nanoseconds time, bool whole);
  void log(Op op, std::uint32_t record);
  VmCounters& owner(std::uint32_t record) {
    return counters_[owners_.vm_of(static_cast<BlockId>(record * record_blocks_))];
  }

  double rate_;
  std::uint32_t record_blocks_;
  BlockOwners owners_;
  ZfsArc arc_;
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
