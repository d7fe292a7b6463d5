#include "core/trace/intervals.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace mcsim {
namespace {

// later - earlier, exact even where the difference exceeds a signed integer.
std::uint64_t elapsed(Nanoseconds earlier, Nanoseconds later) {
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
}

// Formats a length in the largest unit of which it is a whole multiple.
std::string formatted_length(Nanoseconds length, TimeBase time_base) {
  if (time_base != TimeBase::kClock) return fmt::format("{} references", length);
  constexpr std::array units{
      std::pair{"d", 86'400 * kSecond}, std::pair{"h", 3'600 * kSecond},
      std::pair{"min", 60 * kSecond},   std::pair{"s", kSecond},
      std::pair{"ms", kSecond / 1'000}, std::pair{"us", kSecond / 1'000'000}};
  for (const auto& [name, ns] : units) {
    if (length > 0 && length % ns == 0) return fmt::format("{}{}", length / ns, name);
  }
  return fmt::format("{}ns", length);
}

}  // namespace

absl::Status check_intervals(std::span<const Nanoseconds> times, TimeBase time_base,
                             std::string_view name, Nanoseconds length, std::uint64_t most) {
  if (length <= 0) {
    return invalid_argument("{}: must be positive, got {}", name,
                            formatted_length(length, time_base));
  }
  if (times.empty()) return absl::OkStatus();
  const std::uint64_t whole =
      elapsed(times.front(), times.back()) / static_cast<std::uint64_t>(length);
  if (whole < most) return absl::OkStatus();
  const std::uint64_t pieces = std::max(whole, whole + 1);  // the sum may overflow
  return invalid_argument("{}: '{}' cuts this trace into {} pieces; at most {} can be kept", name,
                          formatted_length(length, time_base), pieces, most);
}

Cuts aligned_cuts(std::span<const Nanoseconds> times, Nanoseconds length) {
  Cuts cuts{0};
  if (times.empty()) return cuts;
  assert(length > 0);
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
  assert(length > 0);
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
