#pragma once

#include <array>
#include <span>

#include "core/engine/hosts/observers.hpp"
#include "core/engine/model/chain.hpp"
#include "core/engine/model/counters.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// A fast replay loop for some configurations of TieredHost. It leaves the same state and counters
// as the walk of that host, which defines the semantics.
class Kernel {
 public:
  // Of one VM, by operation: accesses by the tier that had the block; the last entry in use is the
  // backend.
  using Found = std::array<std::array<Count, kMaxTiers + 1>, 2>;

  virtual ~Kernel() = default;

  // Replay requests, and add their counts to the counters of every VM; hits and misses are added to
  // `found` instead.
  virtual void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                      std::span<Found> found) = 0;
  // To be called before the first replay. A kernel serves no log.
  virtual void attach(const Observers& observers) = 0;
};

}  // namespace mcsim
