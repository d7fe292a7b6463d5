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

// The characteriser: one pass over the trace for all meters.
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

// What was measured for a meter; of a curve the distances by VM, to be added up when it is
// looked at: meters that differ in what they count alone share it.
using Measured = std::variant<std::vector<DistanceLog>, Series<Load>, Series<Count>,
                              IntensitySeries, Series<ClassCounts>, Series<Responses>>;

struct Metered {
  MeterSpec spec;
  std::shared_ptr<const Cuts> cuts;  // period k: requests [cuts[k], cuts[k + 1])
  std::shared_ptr<const Measured> measured;
  std::size_t vms = 0;
  // Of a curve with foresight of the whole trace; else null.
  std::shared_ptr<const std::vector<HitCurve>> whole_curves;

  std::size_t periods() const { return cuts->size() - 1; }
  friend bool operator==(const Metered& a, const Metered& b) {
    return a.spec == b.spec && *a.cuts == *b.cuts && *a.measured == *b.measured;
  }
};

// What one pass over the trace finds.
struct Characterised {
  std::vector<Metered> meters;  // as they were asked for
  // By VM, over the whole trace: of the accesses after the warm-up, which are hits where it
  // had the block.
  std::shared_ptr<const std::vector<HitCurve>> whole_curves =
      std::make_shared<const std::vector<HitCurve>>();

  // The one of that spec; null if it was not asked for.
  const Metered* find(const MeterSpec& spec) const;
};

// One pass over the trace, its VMs in parallel on up to `threads` threads, 0 for all cores; the
// result depends neither on their number nor on what else is asked for. What is known of the trace
// already is not measured again, and where nothing is left to measure there is no pass.
//
// All follows from the distance of each access over the whole trace, and for meters that leave
// writes out from that among the reads. Where u distinct blocks have been accessed in a period
// or window so far, the next access is of another one if and only if its distance is at least
// u; if it is less, it is the distance within it. Working memory is at most 25 bytes a block,
// twice that if reads are measured apart; a sliding DistinctMeter takes 4 more a block and an
// access of its window.
absl::StatusOr<Characterised> characterise(const Accesses& trace, std::span<const MeterSpec> specs,
                                           const Tick& tick = nullptr, int threads = 0,
                                           std::span<const Characterised> known = {});

}  // namespace mcsim
