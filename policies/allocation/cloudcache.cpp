#include "policies/allocation/cloudcache.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

// Holt's level and trend under one choice of weights, and how wrong it was so far.
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

std::string CloudCache::divide(const Observation& seen, std::vector<Count>& blocks) {
  const auto most = static_cast<double>(capacity());
  std::vector<double> wanted;
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    const bool present = seen.arrived[vm] && !seen.departed[vm];
    const auto working_set = static_cast<double>(seen.meters[0].distinct[vm]);
    wanted.push_back(present ? std::round(std::max(0.0, next(states_[vm], working_set))) : 0);
    blocks[vm] = static_cast<Count>(std::min(wanted[vm], most));
  }
  const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  if (sum <= most) return {};
  blocks = proportional(capacity(), wanted);
  return fmt::format("the VMs are to reuse {} blocks, and there are {}", sum, capacity());
}

double CloudCache::next(State& state, double working_set) const {
  const bool spike = is_spike(state.seen, working_set);
  state.seen.push_back(working_set);
  state.smooth.push_back(spike ? state.forecast : working_set);
  if (state.seen.size() > static_cast<std::size_t>(params_.history)) {
    state.seen.erase(state.seen.begin());
    state.smooth.erase(state.smooth.begin());
  }
  return state.forecast = forecast(state.smooth, params_.smoothing);
}

// Squares of sums, which are whole numbers, and not roots of their quotients: what lies exactly
// on the border is none.
bool CloudCache::is_spike(std::span<const double> before, double value) const {
  if (params_.spike == 0 || before.size() < static_cast<std::size_t>(params_.history)) return false;
  const auto count = static_cast<double>(before.size());
  const double sum = std::accumulate(before.begin(), before.end(), 0.0);
  const double squares = std::inner_product(before.begin(), before.end(), before.begin(), 0.0);
  const double off = count * value - sum;
  return off * off > params_.spike * params_.spike * (count * squares - sum * sum);
}

}  // namespace mcsim
