#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/profile/distance_log.hpp"
#include "core/locality/profile/reuse_intensity.hpp"
#include "core/locality/profile/running_curve.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

// The characteriser: what a controller knows of every VM at the end of every
// interval. It depends on the trace alone, not on what any cache did, so it is
// made once and shared by all systems that ask for the same.
namespace mcsim {

enum class DistanceScope : std::uint8_t {
  kInterval,    // first touch inside the interval is cold (the paper)
  kCumulative,  // the whole trace so far (the authors' code)
};

enum class RiAggregate : std::uint8_t { kLast, kMean, kMax };

template <>
struct Choices<DistanceScope> {
  static constexpr std::array names{std::pair{"interval", DistanceScope::kInterval},
                                    std::pair{"cumulative", DistanceScope::kCumulative}};
};
template <>
struct Choices<RiAggregate> {
  static constexpr std::array names{std::pair{"last", RiAggregate::kLast},
                                    std::pair{"mean", RiAggregate::kMean},
                                    std::pair{"max", RiAggregate::kMax}};
};

// Lengths are in the trace's own time: a trace without a clock is cut every so
// many references.
struct ProfileSpec {
  Nanoseconds interval = 3600 * kSecond;
  bool drifting = false;  // intervals and RI windows by drifting_cuts, not aligned_cuts
  DistanceScope scope = DistanceScope::kInterval;
  Count distance_limit = 0;  // 0: none; else distances >= it count as cold
  Nanoseconds ri_window = 60 * kSecond;
  RiAggregate ri_aggregate = RiAggregate::kLast;
  UniqueCounter unique = UniqueCounter::kExact;  // of the RI windows
  friend bool operator==(const ProfileSpec&, const ProfileSpec&) = default;
};

// One VM in one interval.
//
// An RI window belongs to the interval in which it closes; one that ends with
// the interval does. Both are cut from the trace's first request on, and the
// end of the trace closes the last of them. Where no window closes in an
// interval, the intensity stays what it was.
struct VmProfile {
  Count requests = 0;
  Count accesses = 0;          // of this interval, whatever the scope
  Count reads = 0;             // accesses that read
  Count unique_blocks = 0;     // distinct blocks of this interval, exact
  double reuse_intensity = 0;  // the aggregate over the RI windows of this interval
  Count ri_window_unique = 0;  // distinct blocks in the last closed RI window
  friend bool operator==(const VmProfile&, const VmProfile&) = default;
};

// One VM in one closed RI window.
struct RiSample {
  Nanoseconds window_end;
  VmId vm;
  double reuse_intensity;
  Count accesses;
  friend bool operator==(const RiSample&, const RiSample&) = default;
};

// What is known at the ends of intervals, whatever the scope of curves.
struct Measurements {
  Cuts cuts;                                // interval k: requests [cuts[k], cuts[k+1])
  std::vector<std::vector<VmProfile>> vms;  // [interval][vm]
  std::vector<DistanceLog> distances;       // by VM
  std::vector<RiSample> reuse_intensity;    // every non-empty window, in time order
  friend bool operator==(const Measurements&, const Measurements&) = default;
};

// What a spec asked for. Specs that differ in what their curves count alone share what was
// measured: a curve is added up when it is looked at.
struct Profile {
  ProfileSpec spec;
  std::shared_ptr<const Measurements> measured;

  const Cuts& cuts() const { return measured->cuts; }
  std::size_t interval_count() const { return cuts().empty() ? 0 : cuts().size() - 1; }
  // What a VM's curve is at the end of an interval, added up from the first that it covers.
  HitCurve curve(std::size_t interval, std::size_t vm) const;
  friend bool operator==(const Profile& a, const Profile& b) {
    return a.spec == b.spec && *a.measured == *b.measured;
  }
};

// A profile interval by interval, as a controller sees it.
class ProfileReader {
 public:
  // `profile` outlives this.
  explicit ProfileReader(const Profile& profile);

  // Goes to the end of the next interval, which there is.
  void advance();
  // Of this VM nothing is known any more.
  void forget(VmId vm);

  std::span<const VmProfile> vms() const { return vms_; }
  std::span<const RunningCurve> curves() const { return curves_; }

 private:
  const Profile& profile_;
  std::size_t next_ = 0;
  std::vector<bool> forgotten_;  // by VM
  std::vector<VmProfile> vms_;
  std::vector<RunningCurve> curves_;
};

// What one pass over the trace finds.
struct Characterised {
  std::vector<Profile> profiles;  // one a spec
  // By VM, over the whole trace: of the accesses after the warm-up, which are hits where it
  // had the block.
  std::vector<HitCurve> whole_curves;
};

// One pass over the trace for all specs, its VMs in parallel on up to `threads` threads, 0 for
// all cores; the result depends neither on their number nor on what else is asked for.
//
// All follows from the distance of each access over the whole trace. Where u distinct blocks
// have been accessed in an interval or window so far, the next access is of another one if and
// only if its distance is at least u; if it is less, it is the distance within the interval.
// Working memory is at most 25 bytes a block.
absl::StatusOr<Characterised> characterise(const Accesses& trace,
                                           std::span<const ProfileSpec> specs,
                                           const Tick& tick = nullptr, int threads = 0);

}  // namespace mcsim
