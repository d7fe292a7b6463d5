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
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// A baseline that is hard to beat: the best division of all tiers at once by curves that decay,
// and no move that does not pay.
//
// Every interval adds what fixed parts of any size would have hit in it to sums that halve in so
// many intervals, one for each half-life. How long to remember, and how reluctant to be, no
// constant is right about: all candidates, each with a division that it alone has led, are
// charged after every interval for what they would have hit in it less what their last move cost,
// and the one that has done best lately is followed.
//
// Space that a VM gets is empty at first: in that interval a hit is lost for every block, as long
// as some are left of what the space was to bring. A candidate moves if a better division gains
// more in an interval than that cost times its reluctance.
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
              Field{"objective", &Params::objective, "what a hit counts for"},
              Field{"period", &Params::period,
                    "between two decisions (0: the experiment's interval)", 0},
              Field{"grid", &Params::grid, "sizes to choose from, at most, of all space", 2,
                    1'000'000},
              Field{"regret_half_life", &Params::regret_half_life,
                    "intervals in which what candidates have hit counts half", 0.1, 1e6},
              Field{"resize_mode", &Params::resize_mode, "how parts come to their new targets"},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "steady",
      .summary = "The best division by curves that decay, moved only where that pays.",
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
    return {{.what = curve_for(params_.objective, {.scope = DistanceScope::kWarm})}};
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

  // In intervals; the last one for ever.
  static constexpr std::array kHalfLives{0.5, 1.0, 2.0, 4.0, 16.0, 0.0};
  static constexpr std::array kReluctances{0.0, 0.1, 0.5};

 private:
  // What is remembered with one half-life, and the best division by that.
  struct Memory : FadingHits {
    Allocation best;
  };
  struct Candidate {
    std::size_t memory = 0;
    double reluctance = 0;
    Allocation division;
    double score = 0;   // worth of hits, lately
    Allocation before;  // its division one interval ago
  };

  void begin(const Observation& seen);
  template <class Of>
  double sum_of_move(const Allocation& from, const Allocation& to, Of of) const;
  double worth(const HitTable& table, const Allocation& division) const;
  // The same, of an interval that began with a move from another division.
  double worth_after_move(const HitTable& table, const Candidate& candidate) const;
  double cost(const Allocation& from, const Allocation& to) const;
  // Whether to go from a division to the best that a memory knows.
  bool pays(const Memory& memory, double reluctance, const Allocation& from) const;

  Params params_;
  SystemContext context_;
  std::vector<double> gains_;
  std::vector<Count> capacities_;
  std::shared_ptr<Optimizer> optimizer_;
  Count unit_ = 1;
  Count most_ = 0;  // that any VM had use for so far
  std::vector<Memory> memories_;
  std::vector<Candidate> candidates_;
};

}  // namespace mcsim
