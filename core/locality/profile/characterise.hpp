#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/profile/distance_log.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

// One pass over the trace that measures all meters.
namespace mcsim {

// By period and VM.
template <class T>
using Series = std::vector<std::vector<T>>;

// One VM in one closed window of an intensity meter.
struct RiSample {
  Nanoseconds window_end;
  VmId vm;
  double reuse_intensity;
  Count accesses;
  friend bool operator==(const RiSample&, const RiSample&) = default;
};

struct IntensitySeries {
  Series<Intensity> values;
  std::vector<RiSample> samples;  // every non-empty window, in time order
  friend bool operator==(const IntensitySeries&, const IntensitySeries&) = default;
};

// The measurement of a meter. For a curve it is the distances by VM, which are added up on reading,
// so that meters that only differ in what they count share it.
using MeterValues = std::variant<std::vector<DistanceLog>, Series<Load>, Series<Count>,
                                 IntensitySeries, Series<ClassCounts>, Series<Responses>>;

struct MeterResult {
  MeterSpec spec;
  std::shared_ptr<const Cuts> cuts;  // period k: requests [cuts[k], cuts[k + 1])
  std::shared_ptr<const MeterValues> measured;
  std::size_t vms = 0;
  // The curves, for a curve meter with foresight of the whole trace; else null.
  std::shared_ptr<const std::vector<HitCurve>> whole_curves;

  std::size_t periods() const { return cuts->size() - 1; }
  friend bool operator==(const MeterResult& a, const MeterResult& b) {
    return a.spec == b.spec && *a.cuts == *b.cuts && *a.measured == *b.measured;
  }
};

// The result of one pass over the trace.
struct Characterised {
  std::vector<MeterResult> meters;  // in the order of the specs
  // The curve of each VM over the whole trace. It counts the accesses after the warm-up; accesses
  // to blocks that the warm-up accessed can hit.
  std::shared_ptr<const std::vector<HitCurve>> whole_curves =
      std::make_shared<const std::vector<HitCurve>>();

  // Returns the meter with this spec; null if it was not requested.
  const MeterResult* find(const MeterSpec& spec) const;
};

// Measures all meters in one pass over the trace, with VMs in parallel on up to `threads` threads
// (0: all cores). The result does not depend on their number or on the other meters. Measurements
// in `known` are not repeated; if all are known there is no pass.
//
// All meters follow from the distance of each access over the whole trace, or, for meters without
// writes, among the reads. The LRU stack of a period or window is the top of the stack of the whole
// trace (RecentStack): a distance below its depth is also the one within the period, and any other
// access is the first to its block. Discards remove blocks from the stack before the request, and
// before a period ends at it. Working memory is at most 25 bytes a block, the same again if reads
// are measured separately, and again if writes go around. A sliding DistinctMeter takes 4 more
// bytes a block, 8 with discards, and 4 an access of its window. Discards take 16 bytes each.
absl::StatusOr<Characterised> characterise(const Accesses& trace, std::span<const MeterSpec> specs,
                                           const Tick& tick = nullptr, int threads = 0,
                                           std::span<const Characterised> known = {});

}  // namespace mcsim
