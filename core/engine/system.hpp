#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/allocation.hpp"
#include "core/engine/host.hpp"
#include "core/engine/machine.hpp"
#include "core/locality/profile/profile.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// What a system knows beside its own parameters.
struct SystemContext {
  Machine machine;
  Nanoseconds interval = 3600 * kSecond;  // of the experiment
  std::uint64_t seed = 1;                 // of what draws in the data path
  // Names of the VMs that the trace will have; empty where they are not known before it.
  std::vector<std::string> vms = {};
};

// Everything a controller may look at when an interval ends.
struct Observation {
  std::size_t interval = 0;
  std::span<const VmProfile> vms;        // of the interval that just ended
  std::span<const RunningCurve> curves;  // by VM, of what the profile's scope covers
  std::span<const VmCounters> counters;  // running totals
  const Allocation& current;             // targets in force
  // VMs that are gone: nothing is known of them any more, and they have no targets.
  std::vector<bool> departed = {};
};

// What a controller decided and how good it can prove that to be.
struct Decision {
  Allocation targets;
  std::vector<WriteMode> write_modes = {};  // by VM; empty: as they are
  double objective = 0;
  double upper_bound = 0;
  Count evaluations = 0;
  double optimizer_seconds = 0;
};

// A way to run a machine for many VMs: which data path, who decides about space,
// what it must know. One object per run.
class System {
 public:
  virtual ~System() = default;

  // How requests become accesses; most want what the experiment says.
  virtual ExpandOptions trace_view(ExpandOptions experiment) const { return experiment; }

  // What must be measured in every interval; decide() is called only if it is
  // something.
  virtual std::optional<ProfileSpec> profile() const { return std::nullopt; }

  // The optimiser it uses unless the user names another; nullopt: it uses none.
  virtual std::optional<std::string> default_optimizer() const { return std::nullopt; }
  virtual absl::Status use_optimizer(std::shared_ptr<Optimizer>) {
    return invalid_argument("this system uses no optimizer");
  }

  // The data path, at its initial targets.
  virtual absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) = 0;

  // New targets at the end of an interval; nullopt leaves them as they are.
  virtual absl::StatusOr<std::optional<Decision>> decide(const Observation&) {
    return std::nullopt;
  }
};

}  // namespace mcsim
