#include "policies/allocation/forecast.hpp"

#include <limits>
#include <numeric>

namespace mcsim {
namespace {

// Holt's level and trend with one pair of weights, and their squared error so far.
struct Smoother {
  double level_weight;
  double trend_weight;
  double level;
  double trend = 0;
  double squared_error = 0;

  void add(double value) {
    const double expected = level + trend;
    squared_error += (value - expected) * (value - expected);
    const double before = level;
    level = level_weight * value + (1 - level_weight) * expected;
    trend = trend_weight * (level - before) + (1 - trend_weight) * trend;
  }
};

}  // namespace

double forecast(std::span<const double> values, Smoothing smoothing) {
  if (smoothing == Smoothing::kNone) return values.back();
  constexpr int kTenths = 9;
  double least = std::numeric_limits<double>::infinity();
  double best = values.back();
  for (int level = 1; level <= kTenths; ++level) {
    for (int trend = 1; trend <= kTenths; ++trend) {
      const bool holt = smoothing == Smoothing::kHolt;
      Smoother smoother{.level_weight = level / 10.0,
                        .trend_weight = holt ? trend / 10.0 : 0,
                        .level = values.front()};
      for (const double value : values.subspan(1)) smoother.add(value);
      if (smoother.squared_error < least) {
        least = smoother.squared_error;
        best = smoother.level + smoother.trend;
      }
      if (!holt) break;
    }
  }
  return best;
}

double Forecast::next(double value, const Rules& rules) {
  const bool spike = is_spike(value, rules);
  seen_.push_back(value);
  smooth_.push_back(spike ? forecast_ : value);
  if (seen_.size() > static_cast<std::size_t>(rules.history)) {
    seen_.erase(seen_.begin());
    smooth_.erase(smooth_.begin());
  }
  return forecast_ = forecast(smooth_, rules.smoothing);
}

// Compare squares of integer sums instead of roots of quotients, so that a value exactly at the
// limit is not a spike.
bool Forecast::is_spike(double value, const Rules& rules) const {
  if (rules.spike == 0 || seen_.size() < static_cast<std::size_t>(rules.history)) return false;
  const auto count = static_cast<double>(seen_.size());
  const double sum = std::accumulate(seen_.begin(), seen_.end(), 0.0);
  const double squares = std::inner_product(seen_.begin(), seen_.end(), seen_.begin(), 0.0);
  const double off = count * value - sum;
  return off * off > rules.spike * rules.spike * (count * squares - sum * sum);
}

}  // namespace mcsim
