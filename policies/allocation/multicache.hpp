#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"

namespace mcsim {

// How reuse intensity enters the utility. As printed it is a
// constant per VM and cannot change which allocation is best; the other two let
// it act as the text intends.
enum class RiMode : std::uint8_t {
  kLiteral,  // α·RI whatever the size
  kGated,    // α·RI once the VM gets any space
  kLinear,   // α·RI in proportion to the share of its last window's working set that fits
};

template <>
struct Choices<RiMode> {
  static constexpr std::array names{std::pair{"literal", RiMode::kLiteral},
                                    std::pair{"gated", RiMode::kGated},
                                    std::pair{"linear", RiMode::kLinear}};
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
class MultiCache final : public CurveMaximizer {
 public:
  struct Params : CurveMaximizer::Params {
    Duration ri_window{60 * kSecond};
    RiAggregate ri_aggregate = RiAggregate::kLast;
    RiMode ri_mode = RiMode::kLiteral;
    double minimum_share = 0;
    IdlePolicy idle = IdlePolicy::kZero;
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
          CurveMaximizer::Params::fields(),
          std::tuple{
              Field{"ri_window", &Params::ri_window, "length of a reuse-intensity window", 1},
              Field{"ri_aggregate", &Params::ri_aggregate,
                    "how the windows of an interval become one reuse intensity"},
              Field{"ri_mode", &Params::ri_mode, "how reuse intensity enters the utility"},
              Field{"minimum_share", &Params::minimum_share,
                    "share of an equal part that every VM is sure of in each tier", 0, 1},
              Field{"idle", &Params::idle, "what a VM without accesses in the interval gets"},
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
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "multicache",
      .summary = "Multi-Cache: divide each tier by per-VM utility every interval.",
      .reference =
          "Rajasekaran, Duan, Zhang, Wood: Multi-Cache: Dynamic, Efficient Partitioning "
          "for Multi-tier Caches in Consolidated VM Environments, IC2E 2016"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  MultiCache(const Params& params, SystemContext context);

  ExpandOptions trace_view(ExpandOptions experiment) const override;
  std::vector<Timer> timers() const override;
  std::vector<Meter> meters() const override;
  std::optional<std::string> default_optimizer() const override;

 protected:
  Grid grid(const Stage& stage) const override;
  Count counted_base(const Stage& stage, std::size_t vm) const override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;
  void worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
                    std::span<const Count> blocks, std::span<double> worths) const override;
  Bounds bounds(const Observation& seen, const Stage& stage, std::size_t vm) const override;

 private:
  double reuse_term(const Intensity& of, const Stage& stage, Count blocks) const;

  Params params_;
};

}  // namespace mcsim
