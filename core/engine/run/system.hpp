#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/run/actions.hpp"
#include "core/engine/run/allocation.hpp"
#include "core/locality/profile/meter_reader.hpp"
#include "core/locality/profile/meters.hpp"
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

// When a system is asked: at the end of every period that ends within the trace, after all
// accesses before that time and before those at it. Of timers that ring at one time the one
// declared first is first.
struct Timer {
  std::string name;
  TimerClock clock;
  bool at_start = false;  // also before the first request
};

// A meter that a system declares. It reads the meter by name when that timer fires.
struct Meter {
  MeterKind what;
  std::size_t timer = 0;
  std::string name = name_of(what);  // no two of a system have the same
};

// Everything a controller may look at when a timer rings.
struct Observation {
  std::size_t timer = 0;                     // which, of those it declared
  std::size_t interval = 0;                  // how often it rang before
  Nanoseconds now = 0;                       // since the trace began
  std::span<const Reading> meters;           // of the last period of each one's timer
  std::span<const VmCounters> counters;      // running totals
  std::span<const VmCounters> since;         // counts since this timer rang last
  const Allocation& current;                 // targets in force
  std::span<const ProbeReading> probe = {};  // by VM, if it has a probe and its timer rang
  // VMs that are gone: nothing is known of them any more, and they have no targets.
  std::vector<bool> departed = {};
  // VMs that have arrived, also those that departed. A VM without an arrival time is present from
  // the start, whether it had an access or not.
  std::vector<bool> arrived = {};

  std::size_t vms() const { return current.vms(); }
  // The meter that the system declared under this name. Without one it throws std::out_of_range,
  // which ends the run with an internal error.
  const Reading& meter(std::string_view name) const;
};

// What a controller decided and how good it can prove that to be. Applied in this order, all
// of it or nothing: migrations, targets, write modes, admission, placements.
struct Decision {
  std::optional<Allocation> targets = {};   // none: as they are. They may leave space unused.
  std::vector<WriteMode> write_modes = {};  // by VM; empty: as they are
  ModesByTier write_modes_by_tier = {};     // instead of them; empty: as they are
  // By VM, whether blocks come in that are not held (VmAdmission); empty: as it is.
  std::vector<bool> admits = {};
  std::vector<Placement> placements = {};  // where there are extents: those that move
  std::vector<Migration> migrations = {};  // where there are hosts: VMs that move
  double objective = 0;
  double upper_bound = 0;
  Count evaluations = 0;
  double optimizer_seconds = 0;
  // Why what was asked of the system cannot be had, if it cannot: the targets are the best
  // that can.
  std::string infeasible = {};
  // What it found out besides, in words.
  std::string note = {};
  // By VM, blocks a second that it is to have of the devices; empty: nothing is said of it.
  std::vector<double> throughputs = {};
};

// What the decision would change.
Actions actions_of(const Decision& decision);

// A way to run a machine for many VMs: which data path, who decides about space,
// what it must know. One object per run.
class System {
 public:
  virtual ~System() = default;

  // How requests become accesses; most want what the experiment says.
  virtual ExpandOptions trace_view(ExpandOptions experiment) const { return experiment; }

  // Whether it has no use for a trace without the classes that its view keeps.
  virtual bool needs_classes() const { return true; }

  // When it is asked, and what must be measured for it.
  virtual std::vector<Timer> timers() const { return {}; }
  virtual std::vector<Meter> meters() const { return {}; }

  // What its decisions may change: none has more.
  virtual Actions actions() const {
    return timers().empty() ? Actions() : Actions{Action::kTargets};
  }
  // What the host that it makes can change, if it decides anything: mostly one whose space is
  // divided.
  virtual Actions host_supports() const {
    return {Action::kTargets, Action::kWriteModes, Action::kAdmission};
  }

  // The probe that it attaches to its host, if any.
  virtual std::optional<ProbeSpec> probe() const { return std::nullopt; }

  // The optimiser it uses unless the user names another; nullopt: it uses none.
  virtual std::optional<std::string> default_optimizer() const { return std::nullopt; }
  virtual absl::Status use_optimizer(std::shared_ptr<Optimizer>) {
    return invalid_argument("this system uses no optimizer");
  }

  // Whether it divides the space of several hosts; else it is refused a machine that has them.
  virtual bool knows_hosts() const { return false; }

  // The data path, at its initial targets.
  virtual absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) = 0;

  // What is to change now that a timer rang; nullopt leaves all as it is.
  virtual absl::StatusOr<std::optional<Decision>> decide(const Observation&) {
    return std::nullopt;
  }
};

// That the host of a system can do what the system decides; whoever loads one asks.
absl::Status check_actions(const System& system);

// What has to be measured for a system, in the order of its meters; run() refuses those of a
// timer that there is not.
std::vector<MeterSpec> meter_specs(const System& system);

// How a system sees the trace: as it says, with what its meters are of.
ExpandOptions view_of(const System& system, ExpandOptions experiment);

}  // namespace mcsim
