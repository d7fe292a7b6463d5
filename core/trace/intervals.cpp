#include "core/trace/intervals.hpp"

#include <algorithm>

namespace mcsim {
namespace {

// later - earlier, exact even where the difference exceeds a signed integer.
std::uint64_t elapsed(Nanoseconds earlier, Nanoseconds later) {
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
}

}  // namespace

absl::Status check_intervals(std::span<const Nanoseconds> times, TimeBase time_base,
                             std::string_view name, Nanoseconds length, std::uint64_t most) {
  const char* unit = time_base == TimeBase::kClock ? "ns" : "references";
  if (length <= 0) return invalid_argument("{}: must be positive, got {} {}", name, length, unit);
  if (times.empty()) return absl::OkStatus();
  const std::uint64_t whole =
      elapsed(times.front(), times.back()) / static_cast<std::uint64_t>(length);
  if (whole < most) return absl::OkStatus();
  const std::uint64_t pieces = std::max(whole, whole + 1);  // which may not fit
  return invalid_argument("{}: {} {} cut this trace into {} pieces; at most {} can be kept", name,
                          length, unit, pieces, most);
}

Cuts aligned_cuts(std::span<const Nanoseconds> times, Nanoseconds length) {
  Cuts cuts{0};
  if (times.empty()) return cuts;
  const auto step = static_cast<std::uint64_t>(length);
  const std::uint64_t whole = elapsed(times.front(), times.back()) / step;
  for (std::uint64_t k = 1; k <= whole; ++k) {
    const auto first = std::partition_point(
        times.begin() + static_cast<std::ptrdiff_t>(cuts.back()), times.end(),
        [&](Nanoseconds time) { return elapsed(times.front(), time) < k * step; });
    cuts.push_back(static_cast<std::size_t>(first - times.begin()));
  }
  cuts.push_back(times.size());
  return cuts;
}

Cuts drifting_cuts(std::span<const Nanoseconds> times, Nanoseconds length) {
  Cuts cuts{0};
  if (times.empty()) return cuts;
  Nanoseconds armed = times.front();
  std::uint64_t wait = 1;
  for (std::size_t r = 0; r < times.size(); ++r) {
    if (elapsed(armed, times[r]) < wait) continue;
    cuts.push_back(r + 1);
    armed = times[r];
    wait = static_cast<std::uint64_t>(length);
  }
  if (cuts.back() != times.size()) cuts.push_back(times.size());
  return cuts;
}

std::vector<Piece> pieces(std::span<const Nanoseconds> times, Nanoseconds length, bool drifting) {
  const Cuts cuts = drifting ? drifting_cuts(times, length) : aligned_cuts(times, length);
  std::vector<Piece> result;
  for (std::size_t k = 1; k < cuts.size(); ++k) {
    const bool last = k + 1 == cuts.size();
    const Nanoseconds end = drifting || last ? times[cuts[k] - 1]
                                             : times.front() + static_cast<Nanoseconds>(k) * length;
    result.push_back({cuts[k], end});
  }
  return result;
}

}  // namespace mcsim
