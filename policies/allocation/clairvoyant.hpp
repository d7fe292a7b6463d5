#pragma once

#include <memory>
#include <optional>
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

// An upper reference, not a real system: every interval is divided by its own curves, which are not
// known when it begins. The curves give the hits of fixed partitions of these sizes that are
// already warm. They ignore the misses of a partition that has just grown, so a system that moves
// less space may still get more hits.
class Clairvoyant final : public System {
 public:
  struct Params : DataPathParams {
    HitWorth objective = HitWorth::kHits;
    Duration period{0};
    Count grid = 2'000;
    ResizeMode resize_mode = ResizeMode::kLazy;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"objective", &Params::objective,
                    "value of a hit: 1 (hits), or the read latency that it saves against the "
                    "backend (latency)"},
              Field{"period", &Params::period,
                    "time between two divisions (0: the interval of the experiment)", 0},
              Field{"grid", &Params::grid,
                    "maximum number of sizes to choose from; they cover the space in which any "
                    "block hits",
                    2, 10'000'000},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own)"},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{.name = "clairvoyant",
                                       .summary =
                                           "Divides all tiers every interval by the curves of the "
                                           "interval that begins (uses the future).",
                                       .reference = "no publication: an upper reference"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_RETURN_IF_ERROR(check(params, context));
    MCSIM_ASSIGN_OR_RETURN(std::vector<double> gains, gains_of(context.machine, params.objective));
    return std::make_unique<Clairvoyant>(std::move(params), std::move(context), std::move(gains));
  }
  Clairvoyant(Params params, SystemContext context, std::vector<double> gains)
      : params_(std::move(params)), context_(std::move(context)), gains_(std::move(gains)) {}

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override {
    optimizer_ = std::move(optimizer);
    return absl::OkStatus();
  }

  std::vector<Timer> timers() const override {
    const Nanoseconds period = params_.period.ns > 0 ? params_.period.ns : context_.interval;
    return {{.name = "sizes", .clock = {.period = period}, .at_start = true}};
  }
  std::vector<Meter> meters() const override {
    const CurveMeter next{.scope = DistanceScope::kWarm, .foresight = Foresight::kNext};
    return with_curves_around({{.what = curve_for(params_.objective, next)}}, params_,
                              context_.machine.tiers.size());
  }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    MCSIM_RETURN_IF_ERROR(
        mode_curves_.set_modes(params_, context_.machine.tiers.size(), trace.vms));
    const std::vector<double> equal(trace.vms.size(), 1.0);
    const Division division =
        one_part_each(proportional(context_.machine, equal), {.mode = params_.resize_mode});
    return make_data_path(params_, context_.machine, trace, division, context_.seed);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    if (optimizer_ == nullptr) return invalid_argument("clairvoyant: needs an optimizer");
    MCSIM_ASSIGN_OR_RETURN(Decision best, best_decision(mode_curves_.select(seen), context_.machine,
                                                        gains_, params_.grid, *optimizer_));
    // No division is better than the current one if no size has hits.
    if (best.upper_bound <= 0) return std::nullopt;
    return best;
  }

 private:
  Params params_;
  SystemContext context_;
  std::vector<double> gains_;
  ModeCurves mode_curves_;
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace mcsim
