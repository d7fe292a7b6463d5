#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Where a trace is cut into intervals.
namespace mcsim {

// Cut points as request indices: interval k is requests [cuts[k], cuts[k + 1]).
using Cuts = std::vector<std::size_t>;

// Intervals [t0 + k·length, t0 + (k+1)·length) from the first request on; the
// last may be short, empty ones stay. The first cut is 0, the last the number
// of requests. `times` is non-decreasing.
Cuts aligned_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

// The Multi-Cache authors' timer: it fires after the first
// request later than the start of the trace, then after the first request at
// least `length` past the one that fired it last.
Cuts drifting_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

}  // namespace mcsim
