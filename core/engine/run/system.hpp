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
#include "core/engine/model/actions.hpp"
#include "core/engine/model/allocation.hpp"
#include "core/engine/model/cache_dump.hpp"
#include "core/engine/model/machine.hpp"
#include "core/locality/profile/meter_reader.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The inputs of a system in addition to its parameters.
struct SystemContext {
  Machine machine;
  Nanoseconds interval = 3600 * kSecond;  // of the experiment
  // Time after the first request during which the experiment counts none. It excludes the leading
  // requests of Accesses::warm_up.
  Nanoseconds warm_up = 0;
  std::uint64_t seed = 1;  // for random choices in the data path
  // Names of the VMs of the trace; empty if they are not known in advance.
  std::vector<std::string> vms = {};
};

// A timer of a system: it fires at the end of every period that ends within the trace, after all
// accesses before that time and before those at it. Timers that fire at the same time fire in the
// order of their declaration.
struct Timer {
  std::string name;
  TimerClock clock;
  bool at_start = false;  // also before the first request
};

// A meter that a system declares, and reads by name when the timer fires.
struct Meter {
  MeterKind what;
  std::size_t timer = 0;
  std::string name = name_of(what);  // unique within a system
};

// The inputs of a decision when a timer fires.
struct Observation {
  std::size_t timer = 0;                     // index into System::timers()
  std::size_t interval = 0;                  // number of earlier firings of this timer
  Nanoseconds now = 0;                       // since the trace began
  std::span<const Reading> meters;           // of the last period of each meter's timer
  std::span<const VmCounters> counters;      // running totals
  std::span<const VmCounters> since;         // counts since this timer last fired
  const Allocation& current;                 // targets in force
  std::span<const ProbeReading> probe = {};  // by VM, if the probe's timer fired
  // Departed VMs: they have no meter readings and no targets.
  std::vector<bool> departed = {};
  // VMs that have arrived, including departed ones. A VM without an arrival time is present from
  // the start, even without an access.
  std::vector<bool> arrived = {};

  std::size_t vms() const { return current.vms(); }
  // The meter that the system declared under this name. For an undeclared name it throws
  // std::out_of_range, which ends the run with an internal error.
  const Reading& meter(std::string_view name) const;
};

// A decision, and how good it is proven to be. `apply` first checks that the system declares what
// the decision changes, and the lengths of all lists; then nothing is applied. It applies the parts
// in this order: migrations with targets, or targets; write modes; admission; placements. A part
// that the host refuses ends the run, and the parts before it stay applied.
struct Decision {
  std::optional<Allocation> targets = {};   // none: unchanged. They may leave space unused.
  std::vector<WriteMode> write_modes = {};  // by VM; empty: unchanged
  ModesByTier write_modes_by_tier = {};     // replaces write_modes; empty: unchanged
  // By VM: whether blocks in no tier are admitted (VmAdmission); empty: unchanged.
  std::vector<bool> admits = {};
  std::vector<Placement> placements = {};  // extents that move
  std::vector<Migration> migrations = {};  // VMs that move to another host
  double objective = 0;
  double upper_bound = 0;
  Count evaluations = 0;
  double optimizer_seconds = 0;
  // Why a requirement on the system cannot be met, if so: the targets are then the best possible.
  std::string infeasible = {};
  // Further results, in words.
  std::string note = {};
  // By VM: throughput required of the devices, in blocks per second; empty: not specified.
  std::vector<double> throughputs = {};
};

// The actions that a decision contains.
Actions actions_of(const Decision& decision);

// A method to manage the caches of many VMs: its data path, its decisions and the meters it needs.
// One object per run.
class System {
 public:
  virtual ~System() = default;

  // How requests become accesses; most systems use the options of the experiment.
  virtual ExpandOptions trace_view(ExpandOptions experiment) const { return experiment; }

  // Keep the addresses of blocks in the view, because a part of the data path reads them.
  void keep_addresses() { keeps_addresses_ = true; }
  bool keeps_addresses() const { return keeps_addresses_; }

  // Whether a trace must have the classes that the view keeps.
  virtual bool needs_classes() const { return true; }

  // The timers and meters of the system.
  virtual std::vector<Timer> timers() const { return {}; }
  virtual std::vector<Meter> meters() const { return {}; }

  // The actions that its decisions may contain.
  virtual Actions actions() const {
    return timers().empty() ? Actions() : Actions{Action::kTargets};
  }
  // The actions that its host supports; relevant only if the system decides anything. By default
  // those of a host with divided space.
  virtual Actions host_supports() const {
    return {Action::kTargets, Action::kWriteModes, Action::kAdmission};
  }

  // The probe to attach to the host, if any.
  virtual std::optional<ProbeSpec> probe() const { return std::nullopt; }

  // The default optimiser; nullopt: the system uses none.
  virtual std::optional<std::string> default_optimizer() const { return std::nullopt; }
  virtual absl::Status use_optimizer(std::shared_ptr<Optimizer>) {
    return invalid_argument("this system uses no optimizer");
  }

  // Start from the blocks of a deployed cache, to be called before make_host().
  virtual absl::Status use_cache_dump(std::shared_ptr<const CacheDump>) {
    return invalid_argument("cache_dump: only dm-cache starts from the metadata of a cache");
  }

  // Whether it divides the space of several hosts; otherwise machines with several hosts are
  // refused.
  virtual bool divides_hosts() const { return false; }

  // Whether it has a rule for capacities in bytes of objects (Machine::in_bytes).
  virtual bool counts_bytes() const { return false; }

  // Whether its data path can have delayed hits (TierSpec::delayed_hits).
  virtual bool can_delay_hits() const { return true; }

  // Make the data path with its initial targets.
  virtual absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) = 0;

  // Return the changes after a timer fired; nullopt changes nothing.
  virtual absl::StatusOr<std::optional<Decision>> decide(const Observation&) {
    return std::nullopt;
  }

 private:
  bool keeps_addresses_ = false;
};

// Check that the host of a system supports the system's actions. To be called when a system is
// loaded.
absl::Status check_actions(const System& system);

// Check that a system can have delayed hits if its machine has them. To be called when a system is
// loaded.
absl::Status check_delayed_hits(std::string_view name, const System& system,
                                const Machine& machine);

// The meters to be measured for a system, in the order of its declaration. Meters with an invalid
// timer are left out; run() refuses them.
std::vector<MeterSpec> meter_specs(const System& system);

// The trace options of a system: its own, and those that its meters need.
ExpandOptions view_of(const System& system, ExpandOptions experiment);

}  // namespace mcsim
