#include "core/locality/profile/profile.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {
namespace {

constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();

// A piece of the trace, interval or window: requests up to `cut`, times up to
// `end`.
struct Piece {
  std::size_t cut;
  Nanoseconds end;

  // Pieces that hold no requests share a cut, those of a drifting timer may
  // share an end: only both tell.
  bool ends_within(const Piece& other) const { return cut <= other.cut && end <= other.end; }
};

std::vector<Piece> pieces(std::span<const Nanoseconds> times, Nanoseconds length, bool drifting) {
  const Cuts cuts = drifting ? drifting_cuts(times, length) : aligned_cuts(times, length);
  std::vector<Piece> result;
  for (std::size_t k = 1; k < cuts.size(); ++k) {
    const bool last = k + 1 == cuts.size();
    const Nanoseconds end = drifting || last ? times[cuts[k] - 1]
                                             : times.front() + static_cast<Nanoseconds>(k) * length;
    result.push_back({cuts[k], end});
  }
  return result;
}

// How many pieces aligned cuts make; a drifting timer makes fewer.
std::uint64_t piece_count(std::span<const Nanoseconds> times, Nanoseconds length) {
  if (times.empty()) return 0;
  const auto span =
      static_cast<std::uint64_t>(times.back()) - static_cast<std::uint64_t>(times.front());
  return span / static_cast<std::uint64_t>(length) + 1;
}

absl::Status check_length(const Accesses& trace, std::string_view name, Nanoseconds length,
                          std::uint64_t most) {
  const char* unit = trace.time_base == TimeBase::kClock ? "ns" : "references";
  if (length <= 0) return invalid_argument("{}: must be positive, got {} {}", name, length, unit);
  if (const std::uint64_t count = piece_count(trace.request_time, length); count > most) {
    return invalid_argument("{}: {} {} cut this trace into {} pieces; at most {} can be kept", name,
                            length, unit, count, most);
  }
  return absl::OkStatus();
}

absl::Status check(const Accesses& trace, const ProfileSpec& spec) {
  MCSIM_RETURN_IF_ERROR(check_length(trace, "interval", spec.interval, 1U << 20));
  MCSIM_RETURN_IF_ERROR(check_length(trace, "ri_window", spec.ri_window, 1U << 25));
  if (spec.distance_limit < 0) {
    return invalid_argument("distance_limit: must be 0 (none) or positive, got {}",
                            spec.distance_limit);
  }
  for (std::size_t i = 0; i < spec.capacities.size(); ++i) {
    const Count below = i == 0 ? 0 : spec.capacities[i - 1];
    if (spec.capacities[i] <= below) {
      return invalid_argument("capacities[{}]: must be above {}, got {}", i, below,
                              spec.capacities[i]);
    }
  }
  return absl::OkStatus();
}

// Reuse intensity of one VM, from its accesses to one figure an interval.
class IntensityMeter {
 public:
  IntensityMeter(const ProfileSpec& spec, VmId vm, std::size_t blocks,
                 std::span<const Piece> windows)
      : aggregate_(spec.ri_aggregate), vm_(vm), windows_(windows), counter_(spec.unique, blocks) {}

  // Closes the windows that end before request `r`, which comes next.
  void begin_request(std::size_t r) {
    while (r >= windows_[open_].cut) close_window();
  }

  void access(std::size_t block) { counter_.access(block); }

  void end_interval(const Piece& interval, VmProfile& profile) {
    while (open_ < windows_.size() && windows_[open_].ends_within(interval)) close_window();
    if (closed_ > 0) intensity_ = aggregate();
    closed_ = 0;
    sum_ = 0;
    max_ = -std::numeric_limits<double>::infinity();
    profile.reuse_intensity = intensity_;
    profile.ri_window_unique = last_unique_;
  }

  const std::vector<RiSample>& samples() const { return samples_; }

 private:
  void close_window() {
    const Count accesses = counter_.accesses();
    last_unique_ = accesses == 0 ? 0 : counter_.unique();
    last_ = reuse_intensity(last_unique_, accesses);
    if (accesses > 0) samples_.push_back({windows_[open_].end, vm_, last_, accesses});
    counter_.clear();
    sum_ += last_;
    max_ = std::max(max_, last_);
    ++closed_;
    ++open_;
  }

  double aggregate() const {
    switch (aggregate_) {
      case RiAggregate::kLast:
        return last_;
      case RiAggregate::kMean:
        return sum_ / static_cast<double>(closed_);
      case RiAggregate::kMax:
        return max_;
    }
    return last_;
  }

  RiAggregate aggregate_;
  VmId vm_;
  std::span<const Piece> windows_;
  WindowCounter counter_;
  std::size_t open_ = 0;  // the window that collects
  std::vector<RiSample> samples_;
  // Of the last closed window.
  double last_ = 0;
  Count last_unique_ = 0;
  // Of the windows closed in this interval.
  Count closed_ = 0;
  double sum_ = 0;
  double max_ = -std::numeric_limits<double>::infinity();
  // Of the last interval in which a window closed.
  double intensity_ = 0;
};

// Everything measured of one VM. It sees the VM's requests alone, so the VMs
// can be worked on in parallel.
class VmMeter {
 public:
  VmMeter(const Accesses& trace, const ProfileSpec& spec, VmId vm, std::span<const Piece> windows)
      : trace_(trace),
        first_id_(trace.vms[vm].first_id),
        cumulative_(spec.scope == DistanceScope::kCumulative),
        distance_limit_(spec.distance_limit),
        capacities_(spec.capacities),
        distances_(blocks_of(trace, vm)),
        interval_blocks_(cumulative_ ? blocks_of(trace, vm) : 0),
        intensity_(spec, vm, blocks_of(trace, vm), windows) {}

  void begin_interval() {
    profile_ = {};
    if (cumulative_) {
      interval_blocks_.clear();
    } else {
      distances_.clear_counts();
      distances_.restart();
    }
  }

  void replay(std::span<const std::size_t> requests) {
    blocks_.clear();
    for (const std::size_t r : requests) {
      intensity_.begin_request(r);
      const std::span<const BlockId> ids = trace_.blocks_of(r);
      ++profile_.requests;
      profile_.accesses += static_cast<Count>(ids.size());
      if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) {
        profile_.reads += static_cast<Count>(ids.size());
      }
      for (const BlockId id : ids) access(id - first_id_);
    }
    distances_.process(blocks_);
  }

  VmProfile end_interval(const Piece& interval) {
    if (!cumulative_) profile_.unique_blocks = distances_.distinct();
    intensity_.end_interval(interval, profile_);
    DistanceHistogram histogram = distances_.histogram();
    if (distance_limit_ > 0) histogram.truncate(distance_limit_);
    profile_.curve = HitCurve(std::move(histogram));
    if (!capacities_.empty()) profile_.curve = profile_.curve.sampled(capacities_);
    return std::move(profile_);
  }

  const std::vector<RiSample>& samples() const { return intensity_.samples(); }

 private:
  static std::size_t blocks_of(const Accesses& trace, VmId vm) {
    return static_cast<std::size_t>(trace.vms[vm].unique_blocks);
  }

  void access(BlockId block) {
    blocks_.push_back(block);
    intensity_.access(block);
    if (cumulative_) profile_.unique_blocks += interval_blocks_.insert(block) ? 1 : 0;
  }

  const Accesses& trace_;
  BlockId first_id_;
  bool cumulative_;
  Count distance_limit_;
  std::span<const Count> capacities_;
  DenseDistances distances_;
  std::vector<BlockId> blocks_;  // of the requests at hand
  EpochSet interval_blocks_;
  IntensityMeter intensity_;
  VmProfile profile_;
};

// The requests of a range, VM by VM, each in time order.
class RequestsByVm {
 public:
  explicit RequestsByVm(std::size_t vms) : begin_(vms + 1) {}

  void assign(const Accesses& trace, RequestRange range) {
    std::fill(begin_.begin(), begin_.end(), std::size_t{0});
    for (std::size_t r = range.begin; r < range.end; ++r) ++begin_[trace.request_vm[r] + 1U];
    for (std::size_t vm = 1; vm < begin_.size(); ++vm) begin_[vm] += begin_[vm - 1];
    requests_.resize(range.end - range.begin);
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      requests_[next[trace.request_vm[r]]++] = r;
    }
  }

  std::span<const std::size_t> of(std::size_t vm) const {
    return std::span(requests_).subspan(begin_[vm], begin_[vm + 1] - begin_[vm]);
  }

 private:
  std::vector<std::size_t> begin_;  // by VM, into requests_
  std::vector<std::size_t> requests_;
};

// Work is done in slabs of about this many accesses: few enough that the tick
// between them comes often, enough that handing their VMs to threads is cheap.
constexpr std::uint64_t kSlabAccesses = std::uint64_t{1} << 20;

// The requests from `begin` on that make a slab, not beyond `end`.
RequestRange next_slab(const Accesses& trace, std::size_t begin, std::size_t end) {
  const auto first = trace.request_begin.begin();
  const auto beyond = std::upper_bound(first + static_cast<std::ptrdiff_t>(begin + 1),
                                       first + static_cast<std::ptrdiff_t>(end),
                                       trace.request_begin[begin] + kSlabAccesses);
  return {begin, static_cast<std::size_t>(beyond - first)};
}

// The series of all VMs as one, by time and then by VM.
std::vector<RiSample> merge_samples(const std::vector<VmMeter>& meters) {
  std::vector<RiSample> merged;
  for (const VmMeter& meter : meters) {
    merged.insert(merged.end(), meter.samples().begin(), meter.samples().end());
  }
  std::stable_sort(merged.begin(), merged.end(), [](const RiSample& a, const RiSample& b) {
    return a.window_end < b.window_end;
  });
  return merged;
}

absl::StatusOr<Profile> measure(const Accesses& trace, const ProfileSpec& spec,
                                const std::vector<Piece>& intervals, const Tick& tick) {
  const std::vector<Piece> windows = pieces(trace.request_time, spec.ri_window, spec.drifting);
  const std::size_t vm_count = trace.vms.size();
  std::vector<VmMeter> meters;
  meters.reserve(vm_count);
  for (std::size_t vm = 0; vm < vm_count; ++vm) {
    meters.emplace_back(trace, spec, static_cast<VmId>(vm), windows);
  }

  Profile profile{.spec = spec, .cuts = {0}, .vms = {}, .reuse_intensity = {}};
  RequestsByVm by_vm(vm_count);
  std::uint64_t next_tick = kSlabAccesses;
  for (const Piece& interval : intervals) {
    const RequestRange range{profile.cuts.back(), interval.cut};
    for (VmMeter& meter : meters) meter.begin_interval();
    for (std::size_t r = range.begin; r < range.end;) {
      const RequestRange slab = next_slab(trace, r, range.end);
      by_vm.assign(trace, slab);
      tbb::parallel_for(std::size_t{0}, vm_count,
                        [&](std::size_t vm) { meters[vm].replay(by_vm.of(vm)); });
      r = slab.end;
      if (const std::uint64_t done = trace.request_begin[r]; tick && done >= next_tick) {
        MCSIM_RETURN_IF_ERROR(tick(static_cast<Count>(done)));
        next_tick = done + kSlabAccesses;
      }
    }
    std::vector<VmProfile>& row = profile.vms.emplace_back(vm_count);
    tbb::parallel_for(std::size_t{0}, vm_count,
                      [&](std::size_t vm) { row[vm] = meters[vm].end_interval(interval); });
    profile.cuts.push_back(interval.cut);
  }
  profile.reuse_intensity = merge_samples(meters);
  return profile;
}

// What `all` counts and `part` of it does not.
DistanceHistogram difference(const DistanceHistogram& all, const DistanceHistogram& part) {
  DistanceHistogram rest{.distance = {}, .count = {}, .cold = all.cold - part.cold};
  std::size_t p = 0;
  for (std::size_t i = 0; i < all.distance.size(); ++i) {
    const bool in_both = p < part.distance.size() && part.distance[p] == all.distance[i];
    const Count count = all.count[i] - (in_both ? part.count[p++] : 0);
    if (count == 0) continue;
    rest.distance.push_back(all.distance[i]);
    rest.count.push_back(count);
  }
  return rest;
}

}  // namespace

absl::StatusOr<Profile> characterise(const Accesses& trace, const ProfileSpec& spec,
                                     const Tick& tick, int threads) {
  MCSIM_RETURN_IF_ERROR(check(trace, spec));
  tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
  return arena.execute([&] {
    return measure(trace, spec, pieces(trace.request_time, spec.interval, spec.drifting), tick);
  });
}

absl::StatusOr<std::vector<HitCurve>> whole_curves(const Accesses& trace, const Tick& tick) {
  std::vector<HitCurve> curves(trace.vms.size());
  if (trace.request_count() == 0) return curves;
  const Nanoseconds end = trace.request_time.back();
  std::vector<Piece> intervals{{trace.request_count(), end}};
  if (trace.warm_up > 0) intervals.insert(intervals.begin(), {trace.warm_up, end});
  MCSIM_ASSIGN_OR_RETURN(
      const Profile whole,
      measure(trace,
              {.interval = kForever, .scope = DistanceScope::kCumulative, .ri_window = kForever},
              intervals, tick));
  for (std::size_t vm = 0; vm < curves.size(); ++vm) {
    curves[vm] = whole.vms.back()[vm].curve;
    if (trace.warm_up == 0) continue;
    const DistanceHistogram before = whole.vms.front()[vm].curve.histogram();
    curves[vm] = HitCurve(difference(curves[vm].histogram(), before));
  }
  return curves;
}

}  // namespace mcsim
