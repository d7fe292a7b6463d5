#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/best_division.hpp"
#include "policies/allocation/fading_hits.hpp"
#include "policies/allocation/mode_curves.hpp"

namespace mcsim {

// A strong baseline: the best division of all tiers at once, by curves that decay, and only moves
// that pay off.
//
// Every interval adds the hits of fixed partitions of any size to decaying sums, one for each
// half-life. No half-life and no reluctance to move is best for all traces. A candidate is a pair
// of both, with its own simulated division. After every interval its score adds the hits of its
// division in the interval, less the cost of its last move. The system follows the best candidate.
// Newly gained space is empty: in its first interval it loses one hit per block, at most the hits
// that the space would add. A candidate moves if the gain of a better division per interval exceeds
// this cost times its reluctance.
class Steady final : public System {
 public:
  struct Params : DataPathParams {
    HitWorth objective = HitWorth::kHits;
    Duration period{0};
    Count grid = 1'000;
    double regret_half_life = 8;
    ResizeMode resize_mode = ResizeMode::kLazy;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"objective", &Params::objective,
                    "value of a hit: 1 (hits), or the read latency that it saves against the "
                    "backend (latency)"},
              Field{"period", &Params::period,
                    "time between two decisions (0: the interval of the experiment)", 0},
              Field{"grid", &Params::grid, "maximum number of sizes to choose from, over all space",
                    2, 1'000'000},
              Field{"regret_half_life", &Params::regret_half_life,
                    "half-life of the candidates' scores, in intervals", 0.1, 1e6},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own)"},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "steady",
      .summary =
          "Follows the best division by decaying curves and moves space only where that pays off.",
      .reference =
          "no publication: a baseline; candidates by regret as in Herbster and Warmuth, "
          "Machine Learning 32, 1998"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Steady(Params params, SystemContext context, std::vector<double> gains);

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override {
    optimizer_ = std::move(optimizer);
    return absl::OkStatus();
  }
  std::vector<Timer> timers() const override;
  std::vector<Meter> meters() const override {
    return with_curves_around(
        {{.what = curve_for(params_.objective, {.scope = DistanceScope::kWarm})}}, params_,
        context_.machine.tiers.size());
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

  // Half-lives in intervals; 0: no decay.
  static constexpr std::array kHalfLives{0.5, 1.0, 2.0, 4.0, 16.0, 0.0};
  static constexpr std::array kReluctances{0.0, 0.1, 0.5};

 private:
  struct Memory : FadingHits {
    Allocation best;
  };
  struct Candidate {
    std::size_t memory = 0;
    double reluctance = 0;
    Allocation division;
    double score = 0;   // decayed value of its hits
    Allocation before;  // its division one interval ago
  };

  void begin(const Observation& seen);
  template <class Of>
  double sum_of_move(const Allocation& from, const Allocation& to, Of of) const;
  double worth(const HitTable& table, const Allocation& division) const;
  // The value in an interval that began with a move from another division.
  double worth_after_move(const HitTable& table, const Candidate& candidate) const;
  double cost(const Allocation& from, const Allocation& to) const;
  bool pays(const Memory& memory, double reluctance, const Allocation& from) const;

  Params params_;
  SystemContext context_;
  std::vector<double> gains_;
  std::vector<Count> capacities_;
  std::shared_ptr<Optimizer> optimizer_;
  Count unit_ = 1;
  Count most_ = 0;  // largest useful size of any VM so far
  ModeCurves mode_curves_;
  std::vector<Memory> memories_;
  std::vector<Candidate> candidates_;
};

}  // namespace mcsim
