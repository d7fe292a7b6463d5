#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/hosts/observers.hpp"
#include "core/engine/model/actions.hpp"
#include "core/engine/model/allocation.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/model/write_modes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The target location of an extent; the number of tiers means the backend.
struct Placement {
  std::size_t extent = 0;
  std::size_t tier = 0;
};

// The blocks that are read over the link while the old host of a VM still has them: only dirty
// blocks, which the backend does not have, or all. Reads of other blocks are misses.
enum class OnDemand : std::uint8_t { kDirty, kAll };

template <>
struct Choices<OnDemand> {
  static constexpr std::array names{std::pair{"dirty", OnDemand::kDirty},
                                    std::pair{"all", OnDemand::kAll}};
};

// The migration of a VM to another host. Its cached blocks are transferred in the background, the
// last accessed first; or they stay behind, and dirty blocks are written back.
struct Migration {
  VmId vm = 0;
  std::size_t host = 0;
  bool keep = true;
  double blocks_per_second = 0;  // 0: the maximum of the link
  OnDemand on_demand = OnDemand::kDirty;
};

// The data path: tiers that serve accesses. One virtual call serves a range of requests; the loop
// inside is monomorphic.
class Host {
 public:
  virtual ~Host() = default;

  virtual void replay(const Accesses& trace, RequestRange range) = 0;

  // The actions that the host supports.
  virtual Actions supports() const { return {}; }

  // Change the targets of all VMs; fails if the host does not divide its space.
  virtual absl::Status resize(const Allocation& targets) = 0;

  // Move extents; fails if the host caches blocks.
  virtual absl::Status place(std::span<const Placement>) {
    return absl::FailedPreconditionError("this host caches blocks and cannot place extents");
  }

  // Move VMs in the given order, at a time since the trace began, and change the targets of all
  // VMs; fails if there is only one host.
  virtual absl::Status migrate(std::span<const Migration>, const Allocation&, Nanoseconds) {
    return absl::FailedPreconditionError("there is no other host to move VMs to");
  }

  // Change the write mode of each VM, at any time. Dirty blocks of VMs that no longer write back
  // are written back at once. Fails for other modes than through if the host supports only that.
  virtual absl::Status set_write_modes(std::span<const WriteMode> modes) {
    for (const WriteMode mode : modes) {
      if (mode == WriteMode::kThrough) continue;
      return absl::FailedPreconditionError("this host supports only the write mode through");
    }
    return absl::OkStatus();
  }

  // Change write modes by tier and VM, if the host supports it; and check whether these modes are
  // possible, so that the change cannot fail.
  virtual absl::Status set_write_modes_by_tier(const ModesByTier& modes) {
    return check_write_modes_by_tier(modes);
  }
  virtual absl::Status check_write_modes_by_tier(const ModesByTier&) const {
    return absl::FailedPreconditionError("this host has one write mode for all tiers");
  }

  // Change which VMs are admitted, at any time (VmAdmission).
  virtual absl::Status set_admission(const std::vector<bool>&) {
    return absl::FailedPreconditionError("this host admits the blocks of all VMs");
  }

  // Report every access to the probe and every backend access to the log. To be called before the
  // first access; with a log, requests are replayed one by one.
  virtual absl::Status attach(const Observers& observers) = 0;

  // Remove the blocks of a departing VM from all tiers, as invalidations; dirty blocks are written
  // back first. Its targets stay in force until resize() gives their space to others.
  virtual void release(VmId vm) = 0;

  // Remove discarded blocks from all tiers, as invalidations, and drop their dirty data.
  virtual void discard(std::span<const BlockId> blocks) = 0;

  // The first error of a policy that can fail; the counts are then invalid.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  // One per VM; running totals since construction, current occupancy and target.
  virtual std::vector<VmCounters> counters() const = 0;

  // Save all that later requests depend on, and the counters; or load it into a fresh host of the
  // same machine and parameters. After an error the host must not be used.
  virtual absl::Status save(ArchiveWriter&) { return refuse_state(); }
  virtual absl::Status load(ArchiveReader&) { return refuse_state(); }

  // Check in O(n) that data structures and counters are consistent.
  virtual absl::Status check_invariants() const = 0;

 protected:
  // For hosts without a probe.
  static absl::Status refuse_probe(const Observers& observers) {
    if (observers.probe == nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError("cache probe: this host does not support one");
  }

 private:
  static absl::Status refuse_state() {
    return absl::FailedPreconditionError("this host cannot be saved");
  }
};

}  // namespace mcsim
