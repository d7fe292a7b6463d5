#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

// The characteriser: what a controller knows of every VM at the end of every
// interval. It depends on the trace alone, not on what any cache did, so it is
// made once and shared by all systems that ask for the same.
namespace mcsim {

enum class DistanceScope : std::uint8_t {
  kInterval,    // first touch inside the interval is cold (the paper)
  kCumulative,  // the whole trace so far (the authors' code, SPEC A1.6 L3)
};

enum class RiAggregate : std::uint8_t { kLast, kMean, kMax };

enum class UniqueCounter : std::uint8_t { kExact, kHyperLogLog };

struct ProfileSpec {
  Nanoseconds interval = 3600 * kSecond;
  bool drifting = false;  // drifting_cuts instead of aligned_cuts
  DistanceScope scope = DistanceScope::kInterval;
  Count distance_limit = 0;  // 0: none; else distances >= it count as cold
  Nanoseconds ri_window = 60 * kSecond;
  RiAggregate ri_aggregate = RiAggregate::kLast;
  UniqueCounter unique = UniqueCounter::kExact;
  friend bool operator==(const ProfileSpec&, const ProfileSpec&) = default;
};

// One VM in one interval.
struct VmProfile {
  Count requests = 0;
  Count accesses = 0;  // of this interval, whatever the scope
  Count reads = 0;
  Count unique_blocks = 0;     // distinct blocks of this interval
  HitCurve curve;              // of the scope
  double reuse_intensity = 0;  // 1 - unique/total of the last closed RI window(s); SPEC B9
  Count ri_window_unique = 0;  // distinct blocks in the last closed RI window
};

// One VM in one closed RI window.
struct RiSample {
  Nanoseconds window_end;
  VmId vm;
  double reuse_intensity;
  Count accesses;
};

struct Profile {
  ProfileSpec spec;
  Cuts cuts;                                // interval k: requests [cuts[k], cuts[k+1])
  std::vector<std::vector<VmProfile>> vms;  // [interval][vm]
  std::vector<RiSample> reuse_intensity;    // every non-empty window, in time order

  std::size_t interval_count() const { return cuts.empty() ? 0 : cuts.size() - 1; }
};

// Called every ~100 ms of work with the accesses done so far; a status that is
// not OK stops the work and is returned (Ctrl-C, a deadline).
using Tick = std::function<absl::Status(Count done)>;

absl::StatusOr<Profile> characterise(const Accesses& trace, const ProfileSpec& spec,
                                     const Tick& tick = nullptr);

}  // namespace mcsim
