#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// The clock of a Linux kernel that serves a trace.
namespace mcsim {

// Time of the kernel, in ticks of its clock.
using Jiffies = std::int64_t;

inline Jiffies jiffies_at(Nanoseconds time, Jiffies hz) {
  // Whole seconds first, since products of nanoseconds overflow.
  return time / kSecond * hz + time % kSecond * hz / kSecond;
}

// The time at which a timer expires that is to wait for `ticks`: longer ones are rounded up to
// multiples of the granularity of their level of the timer wheel.
inline Jiffies timer_expiry(Jiffies now, Jiffies ticks) {
  constexpr Jiffies kLevelSize = 63;
  constexpr Jiffies kLevelFactor = 8;
  Jiffies granularity = 1;
  while (ticks >= kLevelSize * granularity) granularity *= kLevelFactor;
  return (now + ticks + granularity) / granularity * granularity;
}

// The time between the first request of a trace and another one, at `rate` requests per second
// (0: at their own times).
inline Nanoseconds since_first_request(const Accesses& trace, std::size_t request, double rate) {
  if (rate == 0) return trace.request_time[request] - trace.request_time[0];
  const double seconds = static_cast<double>(request) / rate;
  return static_cast<Nanoseconds>(std::llround(seconds * static_cast<double>(kSecond)));
}

}  // namespace mcsim
