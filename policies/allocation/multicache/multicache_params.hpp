#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/params.hpp"
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

// Those after `legacy` are the points in which the authors' public code differs from the paper;
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

  // A list, over a screen since each has its text.
  static constexpr auto fields() {
    return std::tuple_cat(
        CurveMaximizer::Params::fields(),
        std::tuple{
            Field{"ri_window", &MultiCacheParams::ri_window,
                  "length of a reuse-intensity window (the paper's; its authors' code: 10min)", 1},
            Field{"ri_aggregate", &MultiCacheParams::ri_aggregate,
                  "how the windows of an interval become one reuse intensity; the source is "
                  "silent, its authors' code takes the last"},
            Field{"ri_mode", &MultiCacheParams::ri_mode, "how reuse intensity enters the utility"},
            Field{"ri_trigger", &MultiCacheParams::ri_trigger,
                  "divide at once, by the last `rd_interval`, at the end of a window in which the "
                  "reuse intensity of a VM rises to this (0: never); the source has no rule",
                  0, 1},
            Field{"minimum_share", &MultiCacheParams::minimum_share,
                  "share of an equal part that every VM is sure of in each tier, rounded down to a "
                  "size of the grid; an idle VM gets what `idle` says, whatever this is; the "
                  "source is silent",
                  0, 1},
            Field{"idle", &MultiCacheParams::idle,
                  "what a VM without accesses in the interval gets: nothing, what it has, or what "
                  "its curve is worth, which a cumulative one may be; `legacy` sets `curve`; the "
                  "source is silent"},
            Field{"grid", &MultiCacheParams::grid,
                  "sizes tried per tier; the source is silent, its authors' code tries 200", 2,
                  1'000'000},
            Field{"legacy", &MultiCacheParams::legacy,
                  "do all that follows as the authors' public code does"},
            Field{"block_key", &MultiCacheParams::block_key,
                  "what makes two touches the same block"},
            Field{"whole_seconds", &MultiCacheParams::whole_seconds, "cut times to whole seconds"},
            Field{"distance_scope", &MultiCacheParams::distance_scope,
                  "reuse distances over the interval, or over the trace so far"},
            Field{"unique_counter", &MultiCacheParams::unique_counter,
                  "how distinct blocks are counted for reuse intensity"},
            Field{"distance_limit", &MultiCacheParams::distance_limit,
                  "distances from here on count as misses (0: no limit)", 0},
            Field{"split_grid", &MultiCacheParams::split_grid,
                  "half of the grid up to the first tier's capacity, half up to the last's"},
            Field{"percent_utility", &MultiCacheParams::percent_utility,
                  "whole percent, without latencies and priorities"},
            Field{"total_size_weight", &MultiCacheParams::total_size_weight,
                  "below the first tier, weigh sizes with all faster space"},
            Field{"rescale", &MultiCacheParams::rescale,
                  "scale the solution to fill the tier; keep targets if it is empty"},
            Field{"drifting_timer", &MultiCacheParams::drifting_timer,
                  "re-arm the timer at the access that fired it"},
            Field{"victim", &MultiCacheParams::victim,
                  "which VM gives a block of a full tier; the source is silent"},
        });
  }
};

// As the authors' public code has it, if that is what is asked for.
MultiCacheParams with_legacy(MultiCacheParams params);

}  // namespace mcsim
