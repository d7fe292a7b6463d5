#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/types.hpp"

namespace mcsim {

enum class Smoothing : std::uint8_t {
  kNone,         // the last value
  kExponential,  // a level
  kHolt,         // a level and its trend (double exponential)
};

template <>
struct Choices<Smoothing> {
  static constexpr std::array names{std::pair{"none", Smoothing::kNone},
                                    std::pair{"exponential", Smoothing::kExponential},
                                    std::pair{"holt", Smoothing::kHolt}};
};

// What a series of values will be next, by smoothing from its first value on, under the weights
// of a tenth to nine tenths that would have forecast its values best.
double forecast(std::span<const double> values, Smoothing smoothing);

// The same value after value, of the last so many, those that stand out taken for what was
// forecast instead: a spike is more standard deviations off the mean of those before it, once there
// are as many as are looked at.
class Forecast {
 public:
  struct Rules {
    Smoothing smoothing = Smoothing::kHolt;
    Count history = 10;
    double spike = 3;  // 0: none is one
  };

  // A value came; what the next one will be.
  double next(double value, const Rules& rules);

 private:
  bool is_spike(double value, const Rules& rules) const;

  std::vector<double> seen_;    // as they came
  std::vector<double> smooth_;  // and without spikes
  double forecast_ = 0;
};

}  // namespace mcsim
