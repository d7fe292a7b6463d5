#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/run/actions.hpp"
#include "core/engine/run/allocation.hpp"
#include "core/engine/run/counters.hpp"
#include "core/engine/tiers/backend_log.hpp"
#include "core/engine/tiers/write_modes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

class CacheProbe;

// An extent that is to live in a tier; the number of tiers stands for the backend.
struct Placement {
  std::size_t extent = 0;
  std::size_t tier = 0;
};

// Which blocks that are still on the host that a VM has left are read over the link; of others a
// read is a miss. Those that are dirty the backend does not have.
enum class OnDemand : std::uint8_t { kDirty, kAll };

template <>
struct Choices<OnDemand> {
  static constexpr std::array names{std::pair{"dirty", OnDemand::kDirty},
                                    std::pair{"all", OnDemand::kAll}};
};

// A VM that is to be on another host. What it has in the cache comes over in the background, the
// block accessed last first; or stays behind, dirty blocks written back.
struct Migration {
  VmId vm = 0;
  std::size_t host = 0;
  bool keep = true;
  double blocks_per_second = 0;  // 0: what the link takes
  OnDemand on_demand = OnDemand::kDirty;
};

// The data path: tiers that serve accesses. One virtual call serves a range of
// requests; the loop below it is monomorphic.
class Host {
 public:
  virtual ~Host() = default;

  virtual void replay(const Accesses& trace, RequestRange range) = 0;

  // What of it a decision may change.
  virtual Actions supports() const { return {}; }

  // Changes what every VM is granted; a host that does not divide its space
  // refuses.
  virtual absl::Status resize(const Allocation& targets) = 0;

  // Moves extents; a host that caches has none.
  virtual absl::Status place(std::span<const Placement>) {
    return absl::FailedPreconditionError("this host caches blocks, and places no extents");
  }

  // Moves VMs, one after the other, at a time since the trace began, and changes what every VM is
  // granted; a host that is alone refuses.
  virtual absl::Status migrate(std::span<const Migration>, const Allocation&, Nanoseconds) {
    return absl::FailedPreconditionError("there is no other host to move VMs to");
  }

  // Changes what becomes of each VM's writes, at any time. What a VM no longer writes back is
  // written back at once. A host that was never made for anything but writing through refuses
  // all else.
  virtual absl::Status set_write_modes(std::span<const WriteMode> modes) {
    for (const WriteMode mode : modes) {
      if (mode == WriteMode::kThrough) continue;
      return absl::FailedPreconditionError("this host writes through, and nothing else");
    }
    return absl::OkStatus();
  }

  // Changes it by tier and VM, in hosts that write each tier in its own way; and whether that can
  // be done with these, in which case it will be.
  virtual absl::Status set_write_modes_by_tier(const ModesByTier& modes) {
    return check_write_modes_by_tier(modes);
  }
  virtual absl::Status check_write_modes_by_tier(const ModesByTier&) const {
    return absl::FailedPreconditionError("this host writes alike in all its tiers");
  }

  // Changes of which VMs blocks come in that it does not hold, at any time (VmAdmission).
  virtual absl::Status set_admission(const std::vector<bool>&) {
    return absl::FailedPreconditionError("this host lets in blocks of all VMs");
  }

  // Reports every access to the probe, which outlives the host. Called before the first access.
  virtual absl::Status attach(CacheProbe&) {
    return absl::FailedPreconditionError("cache probe: this host does not support one");
  }

  // Reports every block that reaches the backend to the log, which outlives the host. Called before
  // the first access; from then on requests are replayed one by one.
  virtual void attach_log(BackendLog& log) = 0;

  // A VM departs: its blocks leave all tiers at once, as invalidations, those that are dirty
  // after they were written back. Its targets stay: what they keep free is for resize() to
  // give to others.
  virtual void release(VmId vm) = 0;

  // The VMs discard blocks: these leave all tiers, as invalidations. Their dirty data is dropped.
  virtual void discard(std::span<const BlockId> blocks) = 0;

  // What went wrong since construction, in a policy that can fail: what was counted means
  // nothing.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  // One per VM; running totals since construction, occupancy and target as now.
  virtual std::vector<VmCounters> counters() const = 0;

  // O(n): the structure agrees with itself and with the counters.
  virtual absl::Status check_invariants() const = 0;
};

}  // namespace mcsim
