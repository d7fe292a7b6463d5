#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/locality/profile/meter_reader.hpp"

// Files of profiles (core/locality/profile/profile_file.hpp) as whoever writes their format could
// make them: it is restated here.
namespace mcsim::testing {

// With the length and the checksum that are right for what they hold.
inline std::vector<std::uint64_t> with_checksum(std::vector<std::uint64_t> words) {
  if (words.size() < 6) return words;
  words[3] = words.size();
  std::uint64_t sum = 0;
  for (std::size_t at = 6; at < words.size(); at += 1 << 17) {
    const std::size_t size = std::min<std::size_t>(1 << 17, words.size() - at);
    sum = checksum(std::as_bytes(std::span(words).subspan(at, size)), sum);
  }
  sum = checksum(std::as_bytes(std::span(words).first(2)), sum);
  words[2] = checksum(std::as_bytes(std::span(words).subspan(3, 3)), sum);
  return words;
}

// A meter of every kind.
inline std::vector<MeterSpec> meters_of_every_kind(Nanoseconds period) {
  const TimerClock clock{.period = period};
  return {{clock, CurveMeter{}},
          {clock, CurveMeter{.ops = OpFilter::kReads, .scope = DistanceScope::kWarm}},
          {clock, CurveMeter{.scope = DistanceScope::kCumulative, .distance_limit = 2}},
          {clock, CurveMeter{.window = {2 * period}}},
          {clock, CurveMeter{.foresight = Foresight::kNext}},
          {clock, LoadMeter{}},
          {clock, DistinctMeter{}},
          {clock, IntensityMeter{.window = {period / 2}}},
          {clock, LoadMeter{.bytes = true, .window = {2 * period}}},
          {clock, ClassMeter{}},
          {clock, ClassMeter{.scope = DistanceScope::kWarm, .window = {3 * period}}},
          {clock, ResponseMeter{}}};
}

// Invariants of readers of curves.
template <class Curve>
std::string what_is_wrong_with(const Curve& curve, Count most) {
  if (curve.accesses() < 0 || curve.accesses() > most) return "a curve of other accesses";
  const Count hits = curve.hits(curve.saturation());
  if (hits < 0 || hits > curve.accesses()) return "more hits than accesses";
  if (curve.capacity_for(hits) != curve.saturation()) return "a saturation that is none";
  if (curve.capacity_for(hits + 1) != -1) return "hits beyond the saturation";
  return curve.saturation() <= most ? "" : "distances beyond all accesses";
}

// Looks at all that was read, period by period.
inline std::string what_is_wrong(const Characterised& found, const Accesses& trace) {
  const auto most = static_cast<Count>(trace.ids.size());
  for (const HitCurve& curve : *found.whole_curves) {
    if (std::string wrong = what_is_wrong_with(curve, most); !wrong.empty()) return wrong;
  }
  for (const MeterResult& metered : found.meters) {
    MeterReader reader(metered);
    for (std::size_t period = 0; period <= metered.periods(); ++period) {
      reader.advance();
      for (const RunningCurve& curve : reader.reading().curves) {
        if (std::string wrong = what_is_wrong_with(curve, most); !wrong.empty()) return wrong;
      }
      for (const Intensity& intensity : reader.reading().intensities) {
        if (!std::isfinite(intensity.value)) return "an intensity that is no number";
      }
      for (const Responses& of : reader.reading().responses) {
        if (!std::isfinite(of.mean_ns + of.outstanding)) return "a time that is no number";
      }
    }
  }
  return "";
}

}  // namespace mcsim::testing
