#pragma once

#include <vector>

#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/engine/run/counters.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

namespace mcsim {

// One decision as it was taken: when, and what was granted from then on.
struct DecisionRecord {
  std::size_t request = 0;  // the first request it acts on
  std::size_t timer = 0;    // that rang
  Allocation targets;       // in force from then on
  Count moved = 0;          // blocks of extents that were placed elsewhere
  Decision decision;
  Count times = 1;  // equal decisions in a row, in empty intervals, are one record
};

struct RunResult {
  // [interval][vm]: counts of that interval; occupancy and target at its end. A sequence of empty
  // intervals, in which no counter changes, is one entry.
  std::vector<std::vector<VmCounters>> intervals;
  std::vector<Count> lengths;  // by entry of `intervals`: its number of intervals
  std::vector<DecisionRecord> decisions;
  double replay_seconds = 0;  // in the data path
  double decide_seconds = 0;  // in the controller and its optimiser
};

// Replays a trace through a system. Counts are cut at `metric_cuts`, what comes before
// the first of which only warms up: it is replayed and decided on, but neither counted
// nor timed. Decisions fall where the system's timers ring; `measured` has all that its meters
// ask for. Checks conservation at the end of every interval and the host's own invariants
// at the end of the run. The log, if there is one, records all that reaches the backend, warm-up
// included; a tick may take what it has.
absl::StatusOr<RunResult> run(const Accesses& trace, System& system, const Characterised& measured,
                              const Cuts& metric_cuts, const Tick& tick = nullptr,
                              BackendLog* log = nullptr);

}  // namespace mcsim
