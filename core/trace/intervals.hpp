#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Where a trace is cut into intervals.
namespace mcsim {

// Cut points as request indices: interval k is requests [cuts[k], cuts[k + 1]).
using Cuts = std::vector<std::size_t>;

// As many intervals as can be kept; a time in a trace that is wrong, or an interval in the
// wrong unit, makes more.
inline constexpr std::uint64_t kMostIntervals = std::uint64_t{1} << 20;

// Whether a length is one, and cuts this trace into at most `most` aligned intervals,
// or as many windows; drifting ones are fewer. `name` is the length's in messages.
absl::Status check_intervals(std::span<const Nanoseconds> times, TimeBase time_base,
                             std::string_view name, Nanoseconds length,
                             std::uint64_t most = kMostIntervals);

// Intervals [t0 + k·length, t0 + (k+1)·length) from the first request on; the
// last may be short, empty ones stay. The first cut is 0, the last the number
// of requests. `times` is non-decreasing.
Cuts aligned_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

// The Multi-Cache authors' timer: it fires after the first
// request later than the start of the trace, then after the first request at
// least `length` past the one that fired it last.
Cuts drifting_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

// One of them: requests up to `cut`, times up to `end`.
struct Piece {
  std::size_t cut;
  Nanoseconds end;

  // Pieces that hold no requests share a cut, those of a drifting timer may
  // share an end: only both tell.
  bool ends_within(const Piece& other) const { return cut <= other.cut && end <= other.end; }
};

// Those between aligned cuts, or drifting ones; the last of them ends with the trace.
std::vector<Piece> pieces(std::span<const Nanoseconds> times, Nanoseconds length, bool drifting);

}  // namespace mcsim
