#pragma once

#include <array>
#include <cstdint>
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
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// What a VM's hit ratio counts for.
enum class UtilityWeight : std::uint8_t {
  kRatio,  // 1: a quiet VM counts as much as a busy one (the paper)
  kRate,   // its accesses in the interval: hits, not ratios
};

// What VMs without accesses in an interval get.
enum class IdlePolicy : std::uint8_t {
  kZero,   // nothing
  kKeep,   // their targets in force
  kCurve,  // what their curves are worth, as VMs with accesses do
};

template <>
struct Choices<UtilityWeight> {
  static constexpr std::array names{std::pair{"ratio", UtilityWeight::kRatio},
                                    std::pair{"rate", UtilityWeight::kRate}};
};
template <>
struct Choices<IdlePolicy> {
  static constexpr std::array names{std::pair{"zero", IdlePolicy::kZero},
                                    std::pair{"keep", IdlePolicy::kKeep},
                                    std::pair{"curve", IdlePolicy::kCurve}};
};

// A system that divides tiers anew every interval so that what all VMs get is worth the
// most, as their curves of the last interval say: those of its first meter. A member states the
// sizes to choose from, what they are worth to a VM and what it is sure of (the functions it
// overrides), and by `Rules` what becomes of leftover space. Here are the rest: the data path, the
// problem, its solution, leftover space, and what is reported of objective and bound.
//
// Tiers are solved in stages, from the fastest on, each given the result of those above: one
// tier a stage, or all tiers in one. A system that knows of one cache alone has all tiers
// together for it, and what a VM gets of that is spread over them.
class CurveMaximizer : public System {
 public:
  struct Params : DataPathParams {
    Duration rd_interval{0};
    UtilityWeight weight = UtilityWeight::kRatio;
    PerVm priorities;
    ResizeMode resize_mode = ResizeMode::kLazy;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"rd_interval", &Params::rd_interval,
                    "between two allocations, and what reuse distances cover (0: the experiment's "
                    "interval; Multi-Cache's paper: 1h)",
                    0},
              Field{"weight", &Params::weight, "maximise the sum of hit ratios, or of hits"},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"resize_mode", &Params::resize_mode,
                    "how parts come to their new targets; the source is silent, its authors' code "
                    "is lazy"},
          },
          DataPathParams::fields());
    }
    // For systems that do not weigh hits as Multi-Cache does.
    static constexpr auto interval_fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"interval", &Params::rd_interval,
                    "between two allocations (0: the experiment's interval); the source is silent",
                    0},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"resize_mode", &Params::resize_mode,
                    "how parts come to their new targets; the source is silent"},
          },
          DataPathParams::fields());
    }
  };

  std::vector<Timer> timers() const override {
    return {{.name = "sizes", .clock = {.period = interval_}}};
  }
  std::vector<Meter> meters() const override { return {{.what = CurveMeter{}}}; }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override;
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  enum class Leftover : std::uint8_t {
    kSpread,  // what is worth nothing to a VM is free; all free space is added in proportion
    kScale,   // targets are scaled to fill the tier; if there are none, all stay as they are
    kStay,    // what is worth nothing to a VM is free, and nobody has it
  };
  enum class Tiers : std::uint8_t { kOneByOne, kTogether, kAsOne };
  struct Rules {
    Tiers tiers = Tiers::kOneByOne;
    VictimRule victim = VictimRule::kMostOver;
    IdlePolicy idle = IdlePolicy::kZero;
    Leftover leftover = Leftover::kSpread;
  };
  struct Stage {
    std::size_t first = 0;          // tier
    std::vector<Count> capacities;  // of its tiers, as far as they are to be divided
    std::vector<Count> base;        // by VM: blocks of faster tiers
    std::vector<bool> active;       // by VM: who takes part
  };

  // `name` is the system's, for messages.
  CurveMaximizer(const char* name, const Params& params, SystemContext context, Rules rules);

  // Cumulative sizes to choose from, and the capacities that they fill. They may count, for a
  // VM, counted_base() blocks beside those of the stage.
  struct Grid {
    std::vector<Count> sizes;
    std::vector<Count> capacities;
  };
  virtual Grid grid(const Stage& stage) const = 0;
  virtual Count counted_base(const Stage&, std::size_t /*vm*/) const { return 0; }
  // What `blocks` in the tiers of the stage up to `tier` are worth to an active VM.
  virtual double worth(const Observation& seen, const Stage& stage, std::size_t vm,
                       std::size_t tier, Count blocks) const = 0;
  // The same of several sizes, for who has something to find out once for all of them.
  virtual void worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm,
                            std::size_t tier, std::span<const Count> blocks,
                            std::span<double> worths) const;
  // Blocks that an active VM gets in each tier of the stage, at least and at most. Of sizes of
  // the grid, the largest that is not above.
  struct Bounds {
    Count least = 0;
    Count most = std::numeric_limits<Count>::max();
  };
  virtual Bounds bounds(const Observation&, const Stage&, std::size_t /*vm*/) const { return {}; }
  // Who takes part; the others get what the rules leave to them.
  virtual bool active(const Observation& seen, std::size_t vm) const {
    return curves(seen)[vm].accesses() > 0;
  }
  // Before the stages are solved: what must be found out once for all VMs, and what is wrong
  // with it, to be reported as infeasible.
  virtual std::string prepare(const Observation&) { return {}; }

  static std::span<const RunningCurve> curves(const Observation& seen) {
    return seen.meter("curve").curves;
  }

  // What a VM's gain counts for.
  double weight(const Observation& seen, std::size_t vm) const;
  const std::vector<double>& priorities() const { return priorities_; }

  const Machine& machine() const { return machine_; }
  Nanoseconds interval() const { return interval_; }

 private:
  absl::StatusOr<Allocation> solve(const Observation& seen, Stage& stage, Decision& decision) const;
  AllocationProblem problem_for(const Observation& seen, const Stage& stage) const;
  bool grant(const Allocation& chosen, Stage& stage, Allocation& targets) const;
  std::vector<Count> capacities() const;

  const char* name_;
  Params params_;
  Machine machine_;
  Nanoseconds interval_;
  std::uint64_t seed_;
  Rules rules_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<double> priorities_;  // by VM, known once the trace is
};

}  // namespace mcsim
