#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/best_division.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/allocation/mode_curves.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// An upper reference, not a real system: the best static division, chosen before the trace begins
// from the curves of all accesses that are counted. Its replay has exactly the hits that it
// predicts. Its upper bound holds for all static divisions of an exclusive chain of LRU tiers, into
// any sizes, that shrink at once, write in the same modes, and admit every block. Prediction and
// bound are equal if sizes are single blocks, except for the latency objective when the optima of
// the tiers conflict.
class Hindsight final : public System {
 public:
  struct Params : LruPathParams {
    HitWorth objective = HitWorth::kHits;
    Count grid = 20'000;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{
                  "objective", &Params::objective,
                  "value of a hit: 1 (hits), or the read latency that it saves against the backend "
                  "(latency)"},
              Field{
                  "grid", &Params::grid,
                  "maximum number of sizes to choose from; they cover the space in which any block "
                  "hits, and are multiples of several blocks if that space is larger; fewer are "
                  "used "
                  "if the optimizer refuses this number",
                  2, 10'000'000},
          },
          LruPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hindsight",
      .summary =
          "Applies the best static division of all tiers for the whole trace (uses the future).",
      .reference = "no publication: an upper reference, by Mattson's stack distances (1970)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_RETURN_IF_ERROR(check(data_path_of(params), context));
    MCSIM_ASSIGN_OR_RETURN(std::vector<double> gains, gains_of(context.machine, params.objective));
    return std::make_unique<Hindsight>(std::move(params), std::move(context), std::move(gains));
  }
  Hindsight(Params params, SystemContext context, std::vector<double> gains)
      : params_(std::move(params)), context_(std::move(context)), gains_(std::move(gains)) {}

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
    const DataPathParams path = data_path_of(params_);
    MCSIM_ASSIGN_OR_RETURN(around_, writes_around(path, context_.machine.tiers.size(), trace.vms));
    if (counts_itself()) curves_ = count(trace);
    const std::vector<double> equal(trace.vms.size(), 1.0);
    const Division division =
        one_part_each(proportional(context_.machine, equal), {.mode = ResizeMode::kEager});
    return make_data_path(path, context_.machine, trace, division, context_.seed);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    if (optimizer_ == nullptr) return invalid_argument("hindsight: needs an optimizer");
    const std::span<const RunningCurve> curves =
        counts_itself() ? curves_ : seen.meter("curve").curves;
    return best_decision(curves, context_.machine, gains_, params_.grid, *optimizer_, true);
  }

 private:
  // The meter of the whole trace counts all operations, also those of the experiment's warm-up, and
  // lets writes around enter the cache.
  bool counts_itself() const {
    return params_.objective == HitWorth::kLatency || context_.warm_up > 0 ||
           std::ranges::find(around_, true) != around_.end();
  }
  // Return the curves of the hits that count, by VM.
  std::vector<RunningCurve> count(const Accesses& trace) const;

  Params params_;
  SystemContext context_;
  std::vector<double> gains_;
  std::vector<bool> around_;  // by VM: whether its writes go around the cache
  std::vector<RunningCurve> curves_;
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace mcsim
