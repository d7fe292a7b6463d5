#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/allocation.hpp"
#include "core/engine/host.hpp"
#include "core/engine/machine.hpp"
#include "core/locality/profile.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// What a system may use beside its own parameters.
struct SystemContext {
  Machine machine;
  std::shared_ptr<Optimizer> optimizer;  // null unless the system asks for one
};

// Everything a controller may look at when an interval ends.
struct Observation {
  std::size_t interval = 0;
  std::span<const VmProfile> vms;        // of the interval that just ended
  std::span<const VmCounters> counters;  // running totals
  const Allocation& current;             // targets in force
};

// What a controller decided and how good it can prove that to be.
struct Decision {
  Allocation targets;
  double objective = 0;
  double upper_bound = 0;
  Count evaluations = 0;
  double optimizer_seconds = 0;
};

// A way to run a machine for many VMs: which data path, who decides about space,
// what it must know. One object per run.
//
//   trace_view  how requests become accesses (most want the experiment's own)
//   profile     what must be measured per interval, nullopt for nothing
//   make_host   the data path, at its initial targets
//   decide      new targets at the end of an interval, nullopt for no change
class System {
 public:
  virtual ~System() = default;
  virtual ExpandOptions trace_view(ExpandOptions experiment) const { return experiment; }
  virtual std::optional<ProfileSpec> profile() const { return std::nullopt; }
  virtual absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) = 0;
  virtual absl::StatusOr<std::optional<Decision>> decide(const Observation&) {
    return std::nullopt;
  }
};

}  // namespace mcsim
