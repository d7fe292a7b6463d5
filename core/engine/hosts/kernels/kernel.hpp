#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"
#include "core/containers/directory.hpp"
#include "core/engine/hosts/observers.hpp"
#include "core/engine/model/chain.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/policy/eviction_policy.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"
#include "core/engine/tiers/tier.hpp"
#include "core/engine/tiers/vm_admission.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Serves the requests and victims that a kernel cannot serve.
class SlowPath {
 public:
  virtual void serve_singly(const Accesses& trace, std::size_t request) = 0;
  // Write the new data of a victim of a VM with different modes by tier to slower tiers. `source`:
  // the tier from whose device the data is read. Return whether a slower tier holds the block
  // afterwards.
  virtual bool write_on(std::size_t from, std::size_t source, VmId owner, BlockId block) = 0;

 protected:
  ~SlowPath() = default;
};

// The state of a TieredHost, which its kernels share and which outlives them.
struct KernelSetup {
  Chain chain;
  std::span<Tier> tiers;
  const SlotTable& table;
  std::span<const std::size_t> part_of;  // by VM
  std::uint32_t line_blocks;
  const BlockOwners& owners;
  const VmAdmission& admission;
  DirtyTracker& dirty;
  // Of all accesses; and of the blocks held, by tier and block. Both are empty unless some policy
  // needs the future.
  const Pages<NextUse>& next_uses;
  Pages<NextUse>& next_use_of;
  SlowPath& slow_path;
};

// A fast replay loop for some configurations of TieredHost. It leaves the same state and counters
// as the walk of that host, which defines the semantics. kernels/all.hpp lists the kernels.
class Kernel {
 public:
  // Of one VM, by operation: accesses by the tier that had the block; the last entry in use is the
  // backend.
  using Found = std::array<std::array<Count, kMaxTiers + 1>, 2>;

  virtual ~Kernel() = default;

  // Return whether the kernel can replay these requests under the rules in force, and is faster.
  virtual bool serves(const Accesses& trace, RequestRange range) const = 0;
  // Replay requests, and add their counts to the counters of every VM; hits and misses are added to
  // `found` instead.
  virtual void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                      std::span<Found> found) = 0;
  // To be called before the first replay. A kernel serves no log.
  virtual void attach(const Observers& observers) = 0;
};

}  // namespace mcsim
