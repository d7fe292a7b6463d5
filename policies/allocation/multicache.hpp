#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// How reuse intensity enters the utility. As printed it is a
// constant per VM and cannot change which allocation is best; the other two let
// it act as the text intends.
enum class RiMode : std::uint8_t {
  kLiteral,  // α·RI whatever the size
  kGated,    // α·RI once the VM gets any space
  kLinear,   // α·RI in proportion to the share of its last window's working set that fits
};

// What a VM's hit ratio counts for.
enum class UtilityWeight : std::uint8_t {
  kRatio,  // 1: a quiet VM counts as much as a busy one (the paper)
  kRate,   // its accesses in the interval: hits, not ratios
};

// What VMs without accesses in an interval keep.
enum class IdlePolicy : std::uint8_t { kZero, kKeep };

template <>
struct Choices<RiMode> {
  static constexpr std::array names{std::pair{"literal", RiMode::kLiteral},
                                    std::pair{"gated", RiMode::kGated},
                                    std::pair{"linear", RiMode::kLinear}};
};
template <>
struct Choices<UtilityWeight> {
  static constexpr std::array names{std::pair{"ratio", UtilityWeight::kRatio},
                                    std::pair{"rate", UtilityWeight::kRate}};
};
template <>
struct Choices<IdlePolicy> {
  static constexpr std::array names{std::pair{"zero", IdlePolicy::kZero},
                                    std::pair{"keep", IdlePolicy::kKeep}};
};

// Multi-Cache: every interval, each tier is divided anew so that the sum of the
// VMs' utilities is largest. Utility of c blocks of tier i for a VM
// that already has b blocks of faster tiers:
//
//   CU(c) = (l_backend / l_i) · (H(b + c) - H(b)) + α_i · RI
//
// Tiers are solved from the fastest on, each given the result of the one above.
//
// The parameters after `legacy` are the points in which the authors' public
// code differs from the paper; `legacy` sets them all.
class MultiCache final : public System {
 public:
  struct Params : DataPathParams {
    Duration rd_interval{0};
    Duration ri_window{60 * kSecond};
    RiAggregate ri_aggregate = RiAggregate::kLast;
    RiMode ri_mode = RiMode::kLiteral;
    UtilityWeight weight = UtilityWeight::kRatio;
    PerVm priorities;
    double minimum_share = 0;
    IdlePolicy idle = IdlePolicy::kZero;
    ResizeMode resize_mode = ResizeMode::kLazy;
    Count grid = 200;
    bool legacy = false;
    BlockKey block_key = BlockKey::kAligned;
    bool whole_seconds = false;
    DistanceScope distance_scope = DistanceScope::kInterval;
    UniqueCounter unique_counter = UniqueCounter::kExact;
    Count distance_limit = 0;
    bool split_grid = false;
    bool percent_utility = false;
    bool total_size_weight = false;
    bool rescale = false;
    bool drifting_timer = false;
    VictimRule victim = VictimRule::kMostOver;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"rd_interval", &Params::rd_interval,
                    "between two allocations, and what reuse distances cover (0: the experiment's "
                    "interval; the paper: 1h)",
                    0},
              Field{"ri_window", &Params::ri_window, "length of a reuse-intensity window", 1},
              Field{"ri_aggregate", &Params::ri_aggregate,
                    "how the windows of an interval become one reuse intensity"},
              Field{"ri_mode", &Params::ri_mode, "how reuse intensity enters the utility"},
              Field{"weight", &Params::weight, "maximise the sum of hit ratios, or of hits"},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"minimum_share", &Params::minimum_share,
                    "part of an equal share that every VM is sure of in each tier", 0, 1},
              Field{"idle", &Params::idle, "what a VM without accesses in the interval gets"},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions come to their new targets"},
              Field{"grid", &Params::grid, "sizes tried per tier", 2, 1'000'000},
              Field{"legacy", &Params::legacy,
                    "do all that follows as the authors' public code does"},
              Field{"block_key", &Params::block_key, "what makes two touches the same block"},
              Field{"whole_seconds", &Params::whole_seconds, "cut times to whole seconds"},
              Field{"distance_scope", &Params::distance_scope,
                    "reuse distances over the interval, or over the trace so far"},
              Field{"unique_counter", &Params::unique_counter,
                    "how distinct blocks are counted for reuse intensity"},
              Field{"distance_limit", &Params::distance_limit,
                    "distances from here on count as misses (0: no limit)", 0},
              Field{"split_grid", &Params::split_grid,
                    "half of the grid up to the first tier's capacity, half up to the last's"},
              Field{"percent_utility", &Params::percent_utility,
                    "whole percent, without latencies and priorities"},
              Field{"total_size_weight", &Params::total_size_weight,
                    "below the first tier, weigh sizes with all faster space"},
              Field{"rescale", &Params::rescale,
                    "scale the solution to fill the tier; keep targets if it is empty"},
              Field{"drifting_timer", &Params::drifting_timer,
                    "re-arm the timer at the access that fired it"},
              Field{"victim", &Params::victim, "which VM gives a block of a full tier"},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "multicache",
      .summary = "Multi-Cache: divide each tier by per-VM utility every interval.",
      .reference =
          "Rajasekaran, Duan, Zhang, Wood: Multi-Cache: Dynamic, Efficient Partitioning "
          "for Multi-tier Caches in Consolidated VM Environments, IC2E 2016"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<MultiCache>(std::move(params), std::move(context));
  }
  MultiCache(Params params, SystemContext context);

  ExpandOptions trace_view(ExpandOptions experiment) const override;
  std::optional<ProfileSpec> profile() const override;
  std::optional<std::string> default_optimizer() const override;
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override;
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  // One step of the layered optimisation: a tier, what is already decided, and
  // who takes part.
  struct Step {
    std::size_t tier = 0;
    Count capacity = 0;       // to be divided
    std::vector<Count> base;  // by VM: blocks of faster tiers
    std::vector<bool> active;
  };

  absl::StatusOr<std::vector<Count>> divide(const Observation& seen, Step& step,
                                            Decision& decision) const;
  AllocationProblem problem_for(const Observation& seen, const Step& step) const;
  std::vector<Count> sizes_for(const Step& step) const;
  double utility(const VmProfile& vm, const Step& step, std::size_t v, Count blocks) const;
  double reuse_term(const VmProfile& vm, const Step& step, Count blocks) const;
  Count counted_base(const Step& step, std::size_t v) const;

  Params params_;
  Machine machine_;
  Nanoseconds interval_;
  std::uint64_t seed_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<double> priorities_;  // by VM, known once the trace is
};

}  // namespace mcsim
