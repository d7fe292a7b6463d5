#include "policies/allocation/baa.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace mcsim {
namespace {

// A linear constraint on the multiples of fair shares, x for clients limited by the slow device and
// y for clients limited by the fast device: limit.x · x + limit.y · y <= limit.most.
struct Limit {
  double x;
  double y;
  double most;
};

// Return the best intersection of two constraints that violates no other one; (1, 1) is feasible.
std::array<double, 2> best_corner(std::span<const Limit> limits, double worth_x, double worth_y) {
  constexpr double kRounding = 1e-9;
  std::array<double, 2> best{1, 1};
  const auto allowed = [&](double x, double y) {
    return std::ranges::all_of(limits, [&](const Limit& limit) {
      const double size = std::abs(limit.x * x) + std::abs(limit.y * y) + std::abs(limit.most);
      return limit.x * x + limit.y * y <= limit.most + kRounding * size;
    });
  };
  for (const Limit& a : limits) {
    for (const Limit& b : limits) {
      const double determinant = a.x * b.y - b.x * a.y;
      if (determinant == 0) continue;
      const double x = (a.most * b.y - b.most * a.y) / determinant;
      const double y = (a.x * b.most - b.x * a.most) / determinant;
      if (worth_x * x + worth_y * y <= worth_x * best[0] + worth_y * best[1]) continue;
      if (allowed(x, y)) best = {x, y};
    }
  }
  return best;
}

}  // namespace

std::vector<double> bottleneck_aware(std::span<const double> hit_ratios, double fast, double slow) {
  const auto clients = static_cast<double>(hit_ratios.size());
  std::array<double, 2> worth{};      // sum of fair shares; [0]: limited by the slow device
  std::array<double, 2> fast_time{};  // the time that these shares take of the fast device
  std::array<double, 2> slow_time{};
  std::array<double, 2> envied{};  // largest use of the other side's bottleneck
  std::vector<std::size_t> side;
  std::vector<double> fair;
  for (const double hit : hit_ratios) {
    // The fractions of each device's capacity that one request per second uses.
    const double needs_fast = hit / fast;
    const double needs_slow = (1 - hit) / slow;
    const std::size_t which = needs_slow > needs_fast ? 0 : 1;
    const double share = 1 / (clients * std::max(needs_fast, needs_slow));
    side.push_back(which);
    fair.push_back(share);
    worth[which] += share;
    fast_time[which] += share * needs_fast;
    slow_time[which] += share * needs_slow;
    envied[which] = std::max(envied[which], clients * share * std::min(needs_fast, needs_slow));
  }
  std::vector<Limit> limits{
      {-1, 0, -1}, {0, -1, -1}, {slow_time[0], slow_time[1], 1}, {fast_time[0], fast_time[1], 1}};
  const bool both = worth[0] > 0 && worth[1] > 0;
  if (both) {
    limits.push_back({-1, envied[1], 0});
    limits.push_back({envied[0], -1, 0});
  }
  const std::array<double, 2> times = best_corner(limits, worth[0], worth[1]);
  std::vector<double> throughputs;
  for (std::size_t i = 0; i < fair.size(); ++i) throughputs.push_back(times[side[i]] * fair[i]);
  return throughputs;
}

absl::StatusOr<std::unique_ptr<System>> Baa::make(Params params, SystemContext context) {
  const Machine& machine = context.machine;
  if (machine.tiers.empty()) return invalid_argument("needs a tier");
  if ((params.fast_iops == 0 && !(machine.tiers[0].device.busy_ns(1) > 0)) ||
      (params.slow_iops == 0 && !(machine.backend.busy_ns(1) > 0))) {
    return invalid_argument("a device takes no time per block: set fast_iops and slow_iops");
  }
  return make_checked<Baa>(std::move(params), std::move(context));
}

Baa::Baa(Params params, SystemContext context)
    : params_(std::move(params)),
      context_(std::move(context)),
      period_(params_.period.ns > 0 ? params_.period.ns : context_.interval) {}

absl::StatusOr<std::unique_ptr<Host>> Baa::make_host(const Accesses& trace) {
  block_bytes_ = trace.block_bytes;
  return make_data_path(params_, context_.machine, trace, shared_by_all(context_.machine, trace),
                        context_.seed);
}

absl::StatusOr<std::optional<Decision>> Baa::decide(const Observation& seen) {
  std::vector<double> hit_ratios;
  std::vector<std::size_t> clients;
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const VmCounters& vm = seen.since[v];
    if (vm.accesses == 0) continue;
    const auto accesses = static_cast<double>(vm.accesses);
    hit_ratios.push_back(static_cast<double>(vm.accesses - vm.misses) / accesses);
    clients.push_back(v);
  }
  if (hit_ratios.empty()) return std::nullopt;
  const Machine& machine = context_.machine;
  const auto rate = [&](double given, const Device& device) {
    return given > 0 ? given : 1e9 / device.busy_ns(block_bytes_);
  };
  const std::vector<double> of_clients =
      bottleneck_aware(hit_ratios, rate(params_.fast_iops, machine.tiers[0].device),
                       rate(params_.slow_iops, machine.backend));
  const double sum = std::accumulate(of_clients.begin(), of_clients.end(), 0.0);
  std::vector<double> throughputs(seen.vms(), 0);
  for (std::size_t i = 0; i < clients.size(); ++i) throughputs[clients[i]] = of_clients[i];
  return Decision{.objective = sum, .upper_bound = sum, .throughputs = std::move(throughputs)};
}

}  // namespace mcsim
