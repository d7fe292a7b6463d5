#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/policy/next_use.hpp"
#include "core/engine/policy/tier_cache.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {

// A host for objects with sizes: one tier, whose capacity is in bytes, shared by all VMs or divided
// into fixed parts. Every request is an access to one object. Reads and writes are cached alike;
// writes go on to the backend.
//
// Hits, misses and requests count objects. Insertions, removals, occupancy and targets of the tier
// are in bytes: an object that grows is filled by the difference, one that shrinks is invalidated
// by it.
class WeighedHost final : public Host {
 public:
  struct Part {
    std::unique_ptr<TierCache> cache;  // with weights, and its final capacity
  };

  // The trace must keep bytes, at least 1 for every request. `part_of`: by VM.
  static absl::StatusOr<std::unique_ptr<Host>> make(std::vector<Part> parts,
                                                    std::vector<std::size_t> part_of,
                                                    const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation&) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  static constexpr std::size_t kBackend = 1;

  WeighedHost(std::vector<Part> parts, std::vector<std::size_t> part_of, const Accesses& trace);

  TierCache& cache_of(VmId vm) { return *parts_[part_of_[vm]].cache; }
  // Return whether the access hits.
  bool serve(VmId vm, const Access<>& a);
  void evict(BlockId object);
  // Remove an object that is held, if it is.
  void invalidate(VmId vm, BlockId object);

  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;
  BlockOwners owners_;
  Pages<std::uint32_t> held_;  // by object: its bytes in the tier, 0: not held
  Pages<NextUse> next_uses_;   // by access; empty if no policy needs them
  std::vector<BlockId> victims_;
  std::vector<VmCounters> counters_;
};

}  // namespace mcsim
