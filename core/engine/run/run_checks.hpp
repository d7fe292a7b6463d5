#pragma once

#include "core/base/status.hpp"
#include "core/engine/run/run.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

namespace mcsim {

// Check that the cuts of intervals are in order and within the trace.
absl::Status check_cuts(const Cuts& cuts, const Accesses& trace);

// Check that all meters of the system were measured, and that its timers fit the trace.
absl::Status check_meters(const System& system, const Characterised& measured,
                          const Accesses& trace);

// Return whether a decision repeats the previous one, before the same request.
bool is_repeated(const DecisionRecord& before, const DecisionRecord& record);

}  // namespace mcsim
