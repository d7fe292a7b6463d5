#pragma once

#include <vector>

#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/run/saved_state.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

namespace mcsim {

// A decision, when it was taken, and the targets from then on.
struct DecisionRecord {
  std::size_t request = 0;  // first request after the decision
  std::size_t timer = 0;    // the timer that fired
  Allocation targets;       // in force from then on
  Count moved = 0;          // blocks of extents that were moved
  Decision decision;
  Count times = 1;  // equal consecutive decisions, in empty intervals, are one record
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

// Replay a trace through a system. Counts are divided at `metric_cuts`; requests before the first
// cut are warm-up: replayed with decisions, but not counted or timed. Decisions are taken when the
// system's timers fire; `measured` must have all its meters. Checks conservation at the end of
// every interval and the host's invariants at the end of the run. The log, if given, records all
// backend accesses, including those of the warm-up; a tick may take its contents.
//
// The host starts from the state of an earlier run and is saved at the end, if files are given. The
// two runs then count what one run of both traces would. Only for systems without timers and
// probes, since their own state is not saved.
absl::StatusOr<RunResult> run(const Accesses& trace, System& system, const Characterised& measured,
                              const Cuts& metric_cuts, const Tick& tick = nullptr,
                              BackendLog* log = nullptr, const StateFiles& files = {});

}  // namespace mcsim
