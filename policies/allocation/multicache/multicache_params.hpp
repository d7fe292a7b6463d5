#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/params.hpp"
#include "policies/allocation/curve_maximizer.hpp"

namespace mcsim {

// How reuse intensity enters the utility. As printed it is a constant per VM and cannot change the
// best allocation; the other two modes let it act as the text intends.
enum class RiMode : std::uint8_t {
  kLiteral,  // α·RI at every size
  kGated,    // α·RI if the VM gets any space
  kLinear,   // α·RI in proportion to the share of its last window's working set that fits
};

template <>
struct Choices<RiMode> {
  static constexpr std::array names{std::pair{"literal", RiMode::kLiteral},
                                    std::pair{"gated", RiMode::kGated},
                                    std::pair{"linear", RiMode::kLinear}};
};

// The parameters after `legacy` are the differences between the authors' public code and the paper;
// `legacy` sets them all.
struct MultiCacheParams : CurveMaximizer::Params {
  Duration ri_window{60 * kSecond};
  RiAggregate ri_aggregate = RiAggregate::kLast;
  RiMode ri_mode = RiMode::kLiteral;
  double ri_trigger = 0;
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

  // A list, over a screen since each field has its description.
  static constexpr auto fields() {
    return std::tuple_cat(
        CurveMaximizer::Params::fields(),
        std::tuple{
            Field{"ri_window", &MultiCacheParams::ri_window,
                  "length of a window of reuse intensity, as in the paper; the authors' code uses "
                  "10min",
                  1},
            Field{"ri_aggregate", &MultiCacheParams::ri_aggregate,
                  "reuse intensity of an interval from its windows: last, mean or maximum; not "
                  "specified in the paper, the authors' code takes the last"},
            Field{"ri_mode", &MultiCacheParams::ri_mode,
                  "how reuse intensity enters the utility: at every size (literal), only with "
                  "space (gated), or in proportion to the share of the last window's working set "
                  "that fits (linear)"},
            Field{"ri_trigger", &MultiCacheParams::ri_trigger,
                  "reuse intensity of a VM that triggers a division at the end of its window, by "
                  "the last `rd_interval` (0: never); not specified in the paper",
                  0, 1},
            Field{"minimum_share", &MultiCacheParams::minimum_share,
                  "guaranteed share of an equal part of each tier for every active VM, rounded "
                  "down to a size of the grid; `idle` determines the share of idle VMs; not "
                  "specified in the paper",
                  0, 1},
            Field{"idle", &MultiCacheParams::idle,
                  "share of a VM without accesses in the interval: none (zero), its current one "
                  "(keep), or the optimal one by its curve, which matters for cumulative curves "
                  "(curve, set by `legacy`); not specified in the paper"},
            Field{"grid", &MultiCacheParams::grid,
                  "number of sizes tried per tier; not specified in the paper, the authors' code "
                  "tries 200",
                  2, 1'000'000},
            Field{"legacy", &MultiCacheParams::legacy,
                  "whether to set all following parameters as in the authors' public code"},
            Field{"block_key", &MultiCacheParams::block_key,
                  "identity of a block: its aligned number, the request's byte offset + 0, 1, 2, "
                  "…, or the request's offset as one object"},
            Field{"whole_seconds", &MultiCacheParams::whole_seconds,
                  "whether to truncate times to whole seconds"},
            Field{"distance_scope", &MultiCacheParams::distance_scope,
                  "accesses that the reuse distances cover: of the interval, of all so far, or of "
                  "the interval after a warm start"},
            Field{"unique_counter", &MultiCacheParams::unique_counter,
                  "counter of distinct blocks for reuse intensity: exact or HyperLogLog"},
            Field{"distance_limit", &MultiCacheParams::distance_limit,
                  "distance in blocks from which accesses count as misses (0: no limit)", 0},
            Field{"split_grid", &MultiCacheParams::split_grid,
                  "whether half of the grid spans the first tier's capacity and half the range up "
                  "to the last tier's"},
            Field{"percent_utility", &MultiCacheParams::percent_utility,
                  "whether utilities are truncated to whole percent, without latencies and "
                  "priorities"},
            Field{"total_size_weight", &MultiCacheParams::total_size_weight,
                  "whether sizes below the first tier weigh with all faster space"},
            Field{"rescale", &MultiCacheParams::rescale,
                  "whether to scale the solution to fill the tier; if the solution is empty, "
                  "targets stay unchanged"},
            Field{"drifting_timer", &MultiCacheParams::drifting_timer,
                  "whether the timer is re-armed at the access that fired it, so that it drifts"},
            Field{"victim", &MultiCacheParams::victim,
                  "VM that loses a block of a full tier: the one most above its target, or the "
                  "first one above it; not specified in the paper"},
        });
  }
};

// Apply `legacy` if it is set.
MultiCacheParams with_legacy(MultiCacheParams params);

}  // namespace mcsim
