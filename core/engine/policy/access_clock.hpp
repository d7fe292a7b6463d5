#pragma once

#include <tuple>

#include "core/base/types.hpp"

namespace mcsim {

// The clock of policies whose rules are in seconds: a constant number of accesses per second, or
// the times of the trace if that rate is 0.
class AccessClock {
 public:
  static constexpr Count kDefaultRate = 1000;
  static constexpr const char* kHelp =
      "accesses per second of the policy's clock; 0: the times of the trace";
  static constexpr double kMostRate = 1e9;

  explicit AccessClock(Count rate)
      : rate_(rate), step_(rate == 0 ? 0 : kSecond / rate), rest_(rate == 0 ? 0 : kSecond % rate) {}

  bool reads_trace() const { return rate_ == 0; }

  // Return the time of an access, in nanoseconds.
  Nanoseconds advance(const auto& a) {
    if (reads_trace()) return now_ = a.request->time;
    now_ += step_;
    rests_ += rest_;
    if (rests_ >= rate_) {
      rests_ -= rate_;
      ++now_;
    }
    return now_;
  }
  // Return the time of the last access.
  Nanoseconds now() const { return now_; }

  auto state() { return std::tie(now_, rests_); }

 private:
  static constexpr Nanoseconds kSecond = 1'000'000'000;

  Count rate_;
  Nanoseconds step_;
  Nanoseconds rest_;     // of a second, by step: less than the rate
  Nanoseconds now_ = 0;  // without the sum of the rests
  Nanoseconds rests_ = 0;
};

}  // namespace mcsim
