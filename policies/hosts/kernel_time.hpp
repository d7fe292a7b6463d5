#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/status.hpp"
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

// The longest time before the first request, and that of all requests: their sum does not overflow.
constexpr Nanoseconds kYear = 365 * 24 * 3600 * kSecond;
constexpr Nanoseconds kLongestStart = 10 * kYear;
constexpr Nanoseconds kLongestReplay = 100 * kYear;

// Check the times of a trace at this rate. `reason`: for which times are needed; empty if for none.
inline absl::Status check_clock(const Accesses& trace, double rate, std::string_view reason) {
  if (rate == 0 && !reason.empty() && trace.time_base != TimeBase::kClock) {
    return invalid_argument("rate: the trace has no times, {}: state the requests per second",
                            reason);
  }
  constexpr auto kMost = static_cast<double>(kLongestReplay / kSecond);
  const std::size_t requests = trace.request_count();
  if (rate > 0 && static_cast<double>(requests) / rate > kMost) {
    return invalid_argument("rate: {} requests at {} per second take more than 100 years", requests,
                            rate);
  }
  if (rate == 0 && requests > 0 &&
      trace.request_time.back() / 2 - trace.request_time.front() / 2 > kLongestReplay / 2) {
    return invalid_argument(
        "the times of the trace are more than 100 years apart: check their unit");
  }
  return absl::OkStatus();
}

}  // namespace mcsim
