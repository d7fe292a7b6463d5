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
  kNone,         // the forecast is the last value
  kExponential,  // level
  kHolt,         // level and trend (double exponential smoothing)
};

template <>
struct Choices<Smoothing> {
  static constexpr std::array names{std::pair{"none", Smoothing::kNone},
                                    std::pair{"exponential", Smoothing::kExponential},
                                    std::pair{"holt", Smoothing::kHolt}};
};

// Forecast the next value of a series by smoothing it from its first value on. The smoothing
// weights are those of 0.1, 0.2, …, 0.9 with the smallest squared error of past one-step forecasts.
double forecast(std::span<const double> values, Smoothing smoothing);

// An online forecast over the last `history` values, in which spikes are replaced by their
// forecasts. A value is a spike if it differs from the mean of the last `history` values by more
// than `spike` standard deviations; before there are `history` values, none is a spike.
class Forecast {
 public:
  struct Rules {
    Smoothing smoothing = Smoothing::kHolt;
    Count history = 10;
    double spike = 3;  // 0: no value is a spike
  };

  // Add a value and return the forecast of the next one.
  double next(double value, const Rules& rules);

 private:
  bool is_spike(double value, const Rules& rules) const;

  std::vector<double> seen_;    // the last values
  std::vector<double> smooth_;  // the same with spikes replaced
  double forecast_ = 0;
};

}  // namespace mcsim
