#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/hosts/exclusive_lru.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/best_division.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

// An upper reference, not a real system: the best static division, chosen before the trace begins
// from the curves of all accesses that are counted. Its replay has exactly the hits that it
// predicts. Its upper bound holds for all static divisions of an exclusive chain of LRU tiers, into
// any sizes, that shrink at once, write through or back, and admit every block. Prediction and
// bound are equal if sizes are single blocks, except for the latency objective when the optima of
// the tiers conflict.
class Hindsight final : public System {
 public:
  struct Params {
    HitWorth objective = HitWorth::kHits;
    Count grid = 20'000;

    static constexpr auto fields() {
      return std::tuple{
          Field{"objective", &Params::objective,
                "value of a hit: 1 (hits), or the read latency that it saves against the backend "
                "(latency)"},
          Field{"grid", &Params::grid,
                "maximum number of sizes to choose from; they cover the space in which any block "
                "hits, and are multiples of several blocks if that space is larger; fewer are used "
                "if the optimizer refuses this number",
                2, 10'000'000},
      };
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hindsight",
      .summary =
          "Applies the best static division of all tiers for the whole trace (uses the future).",
      .reference = "no publication: an upper reference, by Mattson's stack distances (1970)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_ASSIGN_OR_RETURN(std::vector<double> gains, gains_of(context.machine, params.objective));
    return std::make_unique<Hindsight>(params, std::move(context), std::move(gains));
  }
  Hindsight(Params params, SystemContext context, std::vector<double> gains)
      : params_(params),
        machine_(std::move(context.machine)),
        warm_up_(context.warm_up),
        gains_(std::move(gains)) {}

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override {
    optimizer_ = std::move(optimizer);
    return absl::OkStatus();
  }

  // The period exceeds every trace, so that the timer fires only at the start.
  std::vector<Timer> timers() const override {
    return {{.name = "begin",
             .clock = {.period = std::numeric_limits<Nanoseconds>::max()},
             .at_start = true}};
  }
  std::vector<Meter> meters() const override {
    return {{.what = CurveMeter{.foresight = Foresight::kWhole}}};
  }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    if (counts_itself()) curves_ = count(trace);
    const std::vector<double> equal(trace.vms.size(), 1.0);
    return make_divided_lru(machine_, trace, proportional(machine_, equal),
                            {.mode = ResizeMode::kEager});
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    if (optimizer_ == nullptr) return invalid_argument("hindsight: needs an optimizer");
    const std::span<const RunningCurve> curves =
        counts_itself() ? curves_ : seen.meter("curve").curves;
    return best_decision(curves, machine_, gains_, params_.grid, *optimizer_, true);
  }

 private:
  // The meter of the whole trace counts all operations, also those of the experiment's warm-up.
  bool counts_itself() const { return params_.objective == HitWorth::kLatency || warm_up_ > 0; }
  // Return the curves of the hits that count, by VM.
  std::vector<RunningCurve> count(const Accesses& trace) const;

  Params params_;
  Machine machine_;
  Nanoseconds warm_up_;
  std::vector<double> gains_;
  std::vector<RunningCurve> curves_;
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace mcsim
