#include "core/trace/synthetic/arrivals.hpp"

#include <algorithm>

#include "core/base/portable_math.hpp"

namespace mcsim {
namespace {

constexpr Nanoseconds kLongestSegment = 600 * kSecond;
constexpr Nanoseconds kDay = 86'400 * kSecond;

double relative_rate(const SyntheticPhase& phase, Nanoseconds at) {
  if (!phase.diurnal) return 1;
  const double turns = static_cast<double>(at - phase.diurnal->peak) / static_cast<double>(kDay);
  return 1 + phase.diurnal->amplitude * portable_cos_turns(turns);
}

}  // namespace

Arrivals::Arrivals(const SyntheticPhase& phase, Random random) : random_(random) {
  const Nanoseconds end = phase.start + phase.duration;
  Nanoseconds quiet_from = phase.start;
  if (phase.bursts) {
    const auto [period, length] = std::pair(phase.bursts->period, phase.bursts->length);
    for (Nanoseconds from = phase.start; end - from >= length; from += period) {
      const Nanoseconds room = std::min(period, end - from) - length;
      const auto delay = random_.below(static_cast<std::uint64_t>(room) + 1);
      const Nanoseconds begin = from + static_cast<Nanoseconds>(delay);
      add_quiet(phase, quiet_from, begin);
      add_burst(begin, begin + length);
      quiet_from = begin + length;
      if (end - from <= period) break;
    }
  }
  add_quiet(phase, quiet_from, end);
  scale(phase);
}

void Arrivals::add_quiet(const SyntheticPhase& phase, Nanoseconds begin, Nanoseconds end) {
  while (begin < end) {
    const Nanoseconds stop = std::min(end, begin + kLongestSegment);
    const double weight =
        static_cast<double>(stop - begin) * relative_rate(phase, begin + (stop - begin) / 2);
    segments_.push_back({begin, stop, 0, weight, false});
    begin = stop;
  }
}

void Arrivals::add_burst(Nanoseconds begin, Nanoseconds end) {
  segments_.push_back({begin, end, 0, static_cast<double>(end - begin), true});
}

// Turns the segments' weights into expected numbers of requests.
void Arrivals::scale(const SyntheticPhase& phase) {
  double weight[2] = {0, 0};
  for (const Segment& segment : segments_) weight[segment.in_burst] += segment.requests;
  const double in_bursts = weight[1] == 0 ? 0 : weight[0] == 0 ? 1 : phase.bursts->share;
  const double share[2] = {1 - in_bursts, in_bursts};
  double before = 0;
  for (Segment& segment : segments_) {
    const double whole = weight[segment.in_burst];
    segment.before = before;
    segment.requests = whole == 0 ? 0
                                  : segment.requests / whole * share[segment.in_burst] *
                                        static_cast<double>(phase.requests);
    before += segment.requests;
  }
}

RequestArrival Arrivals::next() {
  const double reached = static_cast<double>(arrived_++) + random_.uniform();
  while (segment_ + 1 < segments_.size() && segments_[segment_ + 1].before <= reached) ++segment_;
  const Segment& segment = segments_[segment_];
  const double share = segment.requests == 0 ? 0 : (reached - segment.before) / segment.requests;
  const auto offset =
      static_cast<Nanoseconds>(share * static_cast<double>(segment.end - segment.begin));
  return {std::min(segment.begin + offset, segment.end - 1), segment.in_burst};
}

}  // namespace mcsim
