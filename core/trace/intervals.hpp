#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Cuts a trace into intervals.
namespace mcsim {

// Cut points as request indices: interval k is requests [cuts[k], cuts[k + 1]).
using Cuts = std::vector<std::size_t>;

// The maximum number of intervals. A wrong time in a trace, or an interval in the wrong unit, would
// exceed it.
inline constexpr std::uint64_t kMostIntervals = std::uint64_t{1} << 20;

// Checks that a length is positive and cuts this trace into at most `most` aligned intervals or
// windows; drifting ones are fewer. `name` stands for the length in messages.
absl::Status check_intervals(std::span<const Nanoseconds> times, TimeBase time_base,
                             std::string_view name, Nanoseconds length,
                             std::uint64_t most = kMostIntervals);

// Cuts at [t0 + k·length, t0 + (k+1)·length) from the first request on. The last interval may be
// short, and empty ones are included. The first cut is 0, the last the number of requests. `times`
// never decreases.
Cuts aligned_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

// The Multi-Cache authors' timer. It first fires after the first request later than the start of
// the trace, then after the first request at least `length` past the request that it last fired
// after.
Cuts drifting_cuts(std::span<const Nanoseconds> times, Nanoseconds length);

// An interval: requests up to `cut`, times up to `end`.
struct Piece {
  std::size_t cut;
  Nanoseconds end;

  // Compares both fields: pieces without requests share a cut, and pieces of a drifting timer may
  // share an end.
  bool ends_within(const Piece& other) const { return cut <= other.cut && end <= other.end; }
};

// The pieces between aligned or drifting cuts; the last one ends with the trace.
std::vector<Piece> pieces(std::span<const Nanoseconds> times, Nanoseconds length, bool drifting);

}  // namespace mcsim
