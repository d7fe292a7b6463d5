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
#include "policies/allocation/mode_curves.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// The weight of a VM's hit ratio.
enum class UtilityWeight : std::uint8_t {
  kRatio,  // 1: a quiet VM counts as much as a busy one (the paper)
  kRate,   // its accesses in the interval, so that hits are summed
};

// The share of a VM without accesses in an interval.
enum class IdlePolicy : std::uint8_t {
  kZero,   // nothing
  kKeep,   // its current targets
  kCurve,  // the optimal share by its curve, as for VMs with accesses
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

// A base class of systems that divide tiers every interval so that the sum of the VMs' values is
// largest, by the curves of the last interval (those of the system's first meter). A subclass
// overrides functions for the sizes to choose from, their value to a VM, and a VM's guaranteed
// sizes. `Rules` selects the use of leftover space. This class implements the data path, the
// optimisation problem, its solution, the leftover, and the reported objective and bound.
//
// Tiers are solved in stages, from the fastest to the slowest. A stage is one tier or all tiers,
// and takes the results of the stages before it as given. A system defined for a single cache
// treats all tiers together as that cache; the share of a VM is then spread over the tiers.
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
                    "time between two allocations, and the accesses that reuse distances cover (0: "
                    "the interval of the experiment); Multi-Cache's paper: 1h",
                    0},
              Field{"weight", &Params::weight,
                    "maximise the sum of hit ratios (ratio) or of hits (rate)"},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own); not specified in the publication, the authors' code is lazy"},
          },
          DataPathParams::fields());
    }
    // The fields of systems with other weights than Multi-Cache.
    static constexpr auto interval_fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"interval", &Params::rd_interval,
                    "time between two allocations (0: the interval of the experiment); not "
                    "specified in the publication",
                    0},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own); not specified in the publication"},
          },
          DataPathParams::fields());
    }
  };

  std::vector<Timer> timers() const override {
    return {{.name = "sizes", .clock = {.period = interval_}}};
  }
  std::vector<Meter> meters() const override { return with_around({{.what = CurveMeter{}}}); }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override;
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  enum class Leftover : std::uint8_t {
    kSpread,  // space without value to its VM is freed; free space is added in proportion
    kScale,   // targets are scaled to fill the tier; unchanged if all are 0
    kStay,    // space without value to its VM is freed and stays unused
  };
  enum class Tiers : std::uint8_t { kOneByOne, kTogether, kAsOne };
  struct Rules {
    Tiers tiers = Tiers::kOneByOne;
    VictimRule victim = VictimRule::kMostOver;
    IdlePolicy idle = IdlePolicy::kZero;
    Leftover leftover = Leftover::kSpread;
  };
  struct Stage {
    std::size_t first = 0;          // the first tier
    std::vector<Count> capacities;  // of its tiers, without the space that idle VMs keep
    std::vector<Count> base;        // by VM: blocks of faster tiers
    std::vector<bool> active;       // by VM: whether it takes part
  };

  // `name` is the name of the system, for messages.
  CurveMaximizer(const char* name, const Params& params, SystemContext context, Rules rules);

  // Cumulative sizes to choose from, and the capacities that they fill. The sizes of a VM may
  // include counted_base() blocks outside of the stage.
  struct Grid {
    std::vector<Count> sizes;
    std::vector<Count> capacities;
  };
  virtual Grid grid(const Stage& stage) const = 0;
  virtual Count counted_base(const Stage&, std::size_t /*vm*/) const { return 0; }
  // Return the value of `blocks` in the tiers of the stage up to `tier` to an active VM.
  virtual double worth(const Observation& seen, const Stage& stage, std::size_t vm,
                       std::size_t tier, Count blocks) const = 0;
  // Compute worth() for several sizes. A subclass overrides it to compute common terms once.
  virtual void worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm,
                            std::size_t tier, std::span<const Count> blocks,
                            std::span<double> worths) const;
  // Bounds on the blocks of an active VM in each tier of the stage. A bound between two sizes of
  // the grid is rounded down.
  struct Bounds {
    Count least = 0;
    Count most = std::numeric_limits<Count>::max();
  };
  virtual Bounds bounds(const Observation&, const Stage&, std::size_t /*vm*/) const { return {}; }
  // Whether a VM takes part. `Rules` determines the share of other VMs.
  virtual bool active(const Observation& seen, std::size_t vm) const {
    return curves(seen)[vm].accesses() > 0;
  }
  // Compute values that all VMs share, before the stages are solved. The returned text, if any, is
  // reported as the reason of infeasibility.
  virtual std::string prepare(const Observation&) { return {}; }

  // The curves of the current decision, by the write mode of each VM.
  std::span<const RunningCurve> curves(const Observation&) const { return curves_; }
  // Append the curves of VMs that write around.
  std::vector<Meter> with_around(std::vector<Meter> meters) const {
    return with_curves_around(std::move(meters), params_, machine_.tiers.size());
  }

  // Return the weight of a VM's gain.
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
  std::vector<double> priorities_;  // by VM, set by make_host()
  ModeCurves mode_curves_;
  std::span<const RunningCurve> curves_;
};

}  // namespace mcsim
