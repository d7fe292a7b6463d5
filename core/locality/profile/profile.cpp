#include "core/locality/profile/profile.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

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

absl::Status check(const Accesses& trace, const ProfileSpec& spec) {
  const auto check_length = [&](const char* name, Nanoseconds length, std::uint64_t most) {
    return check_intervals(trace.request_time, trace.time_base, name, length, most);
  };
  MCSIM_RETURN_IF_ERROR(check_length("interval", spec.interval, kMostIntervals));
  MCSIM_RETURN_IF_ERROR(check_length("ri_window", spec.ri_window, std::uint64_t{1} << 25));
  if (spec.distance_limit < 0) {
    return invalid_argument("distance_limit: must be 0 (none) or positive, got {}",
                            spec.distance_limit);
  }
  return absl::OkStatus();
}

// Reuse intensity of one VM, from its accesses to one figure an interval.
class IntensityMeter {
 public:
  IntensityMeter(const ProfileSpec& spec, VmId vm, std::span<const Piece> windows)
      : aggregate_(spec.ri_aggregate), vm_(vm), windows_(windows), counter_(spec.unique) {}

  // Closes the windows that end before request `r`, which comes next.
  void begin_request(std::size_t r) {
    while (r >= windows_[open_].cut) close_window();
  }
  // The request before which the next window closes.
  std::size_t next_cut() const { return windows_[open_].cut; }

  void count(std::span<const Count> distances, std::span<const BlockId> blocks) {
    counter_.count(distances, blocks);
  }

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

// Sorts numbers digit by digit, from the last on; `spare` is room for as many.
void sort_by_digits(std::span<std::uint32_t> numbers, std::vector<std::uint32_t>& spare) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  if (numbers.size() < kDigits) {
    std::ranges::sort(numbers);
    return;
  }
  const std::uint32_t largest = std::ranges::max(numbers);
  spare.resize(numbers.size());
  std::span<std::uint32_t> from = numbers;
  std::span<std::uint32_t> to = spare;
  for (int shift = 0; shift < 32 && (largest >> shift) != 0; shift += kBits) {
    const auto digit = [&](std::uint32_t number) { return (number >> shift) % kDigits; };
    std::array<std::uint32_t, kDigits> next{};  // place of the next number with that digit
    for (const std::uint32_t number : from) ++next[digit(number)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const std::uint32_t number : from) to[next[digit(number)]++] = number;
    std::swap(from, to);
  }
  if (from.data() != numbers.data()) std::ranges::copy(from, numbers.begin());
}

// Counts the distances of one VM interval by interval.
class DistanceMeter {
 public:
  explicit DistanceMeter(DistanceLog& log) : log_(log) {}

  void count(std::span<const Count> distances) {
    make_room(distances.size());
    Count unique = unique_;
    std::size_t across = across_count_;
    for (const Count distance : distances) {
      const bool fresh = is_new(distance, unique);
      // Without a branch: what does not count within falls into the first place.
      ++within_[fresh ? 0 : static_cast<std::size_t>(distance) + 1];
      across_[across] = static_cast<std::uint32_t>(distance);
      across += fresh && distance != kCold ? 1 : 0;
      unique += fresh ? 1 : 0;
    }
    unique_ = unique;
    across_count_ = across;
  }

  // Distinct blocks of the interval so far.
  Count unique() const { return unique_; }

  void end_interval() {
    flush();
    log_.end_interval();
    unique_ = 0;
  }

 private:
  // Distances within an interval are below its distinct blocks, and no count overflows.
  void make_room(std::size_t more) {
    if (counted_ + more > std::numeric_limits<std::uint32_t>::max()) flush();
    counted_ += more;
    const std::size_t places = static_cast<std::size_t>(unique_) + more + 1;
    if (within_.size() < places) within_.resize(std::max(places, 2 * within_.size()));
    if (across_.size() < across_count_ + more + 1) {
      across_.resize(std::max(across_count_ + more + 1, 2 * across_.size()));
    }
  }

  // Moves what was counted into the log.
  void flush() {
    const auto within = std::span(within_).first(std::min(within_.size(), places_used()));
    for (std::size_t place = 1; place < within.size(); ++place) {
      if (within[place] == 0) continue;
      log_.add_within({static_cast<std::uint32_t>(place - 1), within[place]});
    }
    std::ranges::fill(within, 0U);
    const auto across = std::span(across_).first(across_count_);
    sort_by_digits(across, spare_);
    for (std::size_t i = 0; i < across.size();) {
      std::size_t end = i + 1;
      while (end < across.size() && across[end] == across[i]) ++end;
      log_.add_across({across[i], static_cast<std::uint32_t>(end - i)});
      i = end;
    }
    across_count_ = 0;
    counted_ = 0;
  }

  std::size_t places_used() const { return static_cast<std::size_t>(unique_) + 1; }

  DistanceLog& log_;
  Count unique_ = 0;
  std::uint64_t counted_ = 0;          // since the last flush
  std::vector<std::uint32_t> within_;  // how often a distance occurred, a place further on
  std::vector<std::uint32_t> across_;  // distances, of which so many:
  std::size_t across_count_ = 0;
  std::vector<std::uint32_t> spare_;  // to sort them with
};

// Accesses of one VM, request by request, and what is known of each.
struct Batch {
  std::span<const std::size_t> requests;
  std::vector<BlockId> blocks;
  std::vector<Count> distances;
};

// Intervals and windows of a spec; of those that differ in scope alone there is one.
struct Cutting {
  ProfileSpec spec;
  std::vector<Piece> intervals;
  std::vector<Piece> windows;
  std::shared_ptr<Measurements> measured;
};

// What one cutting measures of one VM.
class CuttingMeter {
 public:
  CuttingMeter(const Accesses& trace, Cutting& cutting, VmId vm)
      : trace_(trace),
        intervals_(cutting.intervals),
        measured_(*cutting.measured),
        vm_(vm),
        distances_(measured_.distances[vm]),
        intensity_(cutting.spec, vm, cutting.windows) {}

  void count(const Batch& batch) {
    const std::span<const Count> distances(batch.distances);
    const std::span<const BlockId> blocks(batch.blocks);
    std::size_t begin = 0;
    std::size_t end = 0;
    const auto count_stretch = [&] {
      distances_.count(distances.subspan(begin, end - begin));
      intensity_.count(distances.subspan(begin, end - begin), blocks.subspan(begin, end - begin));
      begin = end;
    };
    for (const std::size_t r : batch.requests) {
      if (r >= next_cut_) {
        count_stretch();
        cut_before(r);
      }
      const std::size_t accesses = trace_.blocks_of(r).size();
      ++profile_.requests;
      profile_.accesses += static_cast<Count>(accesses);
      if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) {
        profile_.reads += static_cast<Count>(accesses);
      }
      end += accesses;
    }
    count_stretch();
  }

  void finish() {
    while (interval_ < intervals_.size()) end_interval();
  }

  const std::vector<RiSample>& samples() const { return intensity_.samples(); }

 private:
  void cut_before(std::size_t r) {
    while (r >= intervals_[interval_].cut) end_interval();
    intensity_.begin_request(r);
    next_cut_ = std::min(intervals_[interval_].cut, intensity_.next_cut());
  }

  void end_interval() {
    profile_.unique_blocks = distances_.unique();
    distances_.end_interval();
    intensity_.end_interval(intervals_[interval_], profile_);
    measured_.vms[interval_][vm_] = std::exchange(profile_, {});
    ++interval_;
  }

  const Accesses& trace_;
  std::span<const Piece> intervals_;
  Measurements& measured_;
  VmId vm_;
  DistanceMeter distances_;
  IntensityMeter intensity_;
  std::size_t interval_ = 0;
  std::size_t next_cut_ = 0;  // before that request something ends
  VmProfile profile_;         // of the interval so far
};

// Everything measured of one VM. It sees the VM's requests alone, so the VMs
// can be worked on in parallel.
class VmMeter {
 public:
  VmMeter(const Accesses& trace, VmId vm, std::vector<Cutting>& cuttings)
      : trace_(trace),
        first_id_(trace.vms[vm].first_id),
        distances_(static_cast<std::size_t>(trace.vms[vm].unique_blocks)) {
    for (Cutting& cutting : cuttings) meters_.emplace_back(trace, cutting, vm);
  }

  void replay(std::span<const std::size_t> requests, Batch& batch) {
    while (!requests.empty()) {
      if (requests.front() >= trace_.warm_up) end_warm_up();
      batch.requests = requests.first(fill(requests, batch.blocks));
      batch.distances.resize(batch.blocks.size());
      distances_.process(batch.blocks, batch.distances);
      for (CuttingMeter& meter : meters_) meter.count(batch);
      requests = requests.subspan(batch.requests.size());
    }
  }

  void finish() {
    end_warm_up();
    for (CuttingMeter& meter : meters_) meter.finish();
  }

  HitCurve whole_curve() const { return HitCurve(distances_.histogram()); }
  const std::vector<RiSample>& samples(std::size_t cutting) const {
    return meters_[cutting].samples();
  }

 private:
  // Few enough that their distances stay near, many enough that the engine gets going.
  static constexpr std::size_t kBatchAccesses = std::size_t{1} << 14;

  // The blocks of the first requests, of the warm-up alone or none of it; returns how many
  // requests these are.
  std::size_t fill(std::span<const std::size_t> requests, std::vector<BlockId>& blocks) const {
    blocks.clear();
    std::size_t taken = 0;
    for (const std::size_t r : requests) {
      if (blocks.size() >= kBatchAccesses || (!warm_ && r >= trace_.warm_up)) break;
      for (const BlockId id : trace_.blocks_of(r)) blocks.push_back(id - first_id_);
      ++taken;
    }
    return taken;
  }

  void end_warm_up() {
    if (!warm_) distances_.clear_counts();
    warm_ = true;
  }

  const Accesses& trace_;
  BlockId first_id_;
  DenseDistances distances_;
  std::vector<CuttingMeter> meters_;
  bool warm_ = false;
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
std::vector<RiSample> merge_samples(const std::vector<VmMeter>& meters, std::size_t cutting) {
  std::vector<RiSample> merged;
  for (const VmMeter& meter : meters) {
    const std::vector<RiSample>& samples = meter.samples(cutting);
    merged.insert(merged.end(), samples.begin(), samples.end());
  }
  std::ranges::stable_sort(merged, {}, &RiSample::window_end);
  return merged;
}

// The spec without what only the look at a curve depends on.
ProfileSpec measured_by(ProfileSpec spec) {
  spec.scope = {};
  spec.distance_limit = 0;
  return spec;
}

Cutting cutting_of(const Accesses& trace, const ProfileSpec& spec) {
  Cutting cutting{.spec = spec,
                  .intervals = pieces(trace.request_time, spec.interval, spec.drifting),
                  .windows = pieces(trace.request_time, spec.ri_window, spec.drifting),
                  .measured = std::make_shared<Measurements>()};
  Measurements& measured = *cutting.measured;
  measured.cuts = {0};
  for (const Piece& interval : cutting.intervals) measured.cuts.push_back(interval.cut);
  measured.vms.assign(cutting.intervals.size(), std::vector<VmProfile>(trace.vms.size()));
  measured.distances.resize(trace.vms.size());
  return cutting;
}

// Has every VM replay its requests, slab by slab.
absl::Status replay(const Accesses& trace, std::vector<VmMeter>& meters, const Tick& tick) {
  RequestsByVm by_vm(meters.size());
  tbb::enumerable_thread_specific<Batch> batches;
  std::uint64_t next_tick = kSlabAccesses;
  for (std::size_t r = 0; r < trace.request_count();) {
    const RequestRange slab = next_slab(trace, r, trace.request_count());
    by_vm.assign(trace, slab);
    tbb::parallel_for(std::size_t{0}, meters.size(),
                      [&](std::size_t vm) { meters[vm].replay(by_vm.of(vm), batches.local()); });
    r = slab.end;
    if (const std::uint64_t done = trace.request_begin[r]; tick && done >= next_tick) {
      MCSIM_RETURN_IF_ERROR(tick(static_cast<Count>(done)));
      next_tick = done + kSlabAccesses;
    }
  }
  tbb::parallel_for(std::size_t{0}, meters.size(), [&](std::size_t vm) { meters[vm].finish(); });
  return absl::OkStatus();
}

absl::StatusOr<Characterised> measure(const Accesses& trace, std::span<const ProfileSpec> specs,
                                      const Tick& tick) {
  std::vector<Cutting> cuttings;
  Characterised found;
  for (const ProfileSpec& spec : specs) {
    const ProfileSpec wanted = measured_by(spec);
    auto same = std::ranges::find(cuttings, wanted, &Cutting::spec);
    if (same == cuttings.end()) {
      same = cuttings.insert(cuttings.end(), cutting_of(trace, wanted));
    }
    found.profiles.push_back({spec, same->measured});
  }
  std::vector<VmMeter> meters;
  meters.reserve(trace.vms.size());
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    meters.emplace_back(trace, static_cast<VmId>(vm), cuttings);
  }
  MCSIM_RETURN_IF_ERROR(replay(trace, meters, tick));
  for (std::size_t i = 0; i < cuttings.size(); ++i) {
    cuttings[i].measured->reuse_intensity = merge_samples(meters, i);
    for (DistanceLog& log : cuttings[i].measured->distances) log.shrink_to_fit();
  }
  for (const VmMeter& meter : meters) found.whole_curves.push_back(meter.whole_curve());
  return found;
}

// Adds to a curve what an interval adds to its scope.
void add_interval(const Profile& profile, std::size_t interval, std::size_t vm,
                  RunningCurve& curve) {
  const Measurements& measured = *profile.measured;
  const DistanceLog& log = measured.distances[vm];
  const Count limit = profile.spec.distance_limit;
  const Count accesses = measured.vms[interval][vm].accesses;
  curve.add(log.within(interval), limit);
  if (profile.spec.scope == DistanceScope::kCumulative) {
    curve.add(log.across(interval), limit);
    curve.set_accesses(curve.accesses() + accesses);
  } else {
    curve.set_accesses(accesses);
  }
}

}  // namespace

HitCurve Profile::curve(std::size_t interval, std::size_t vm) const {
  RunningCurve curve;
  const std::size_t first = spec.scope == DistanceScope::kCumulative ? 0 : interval;
  for (std::size_t k = first; k <= interval; ++k) add_interval(*this, k, vm, curve);
  return curve.curve();
}

ProfileReader::ProfileReader(const Profile& profile)
    : profile_(profile),
      forgotten_(profile.measured->distances.size()),
      vms_(forgotten_.size()),
      curves_(forgotten_.size()) {}

void ProfileReader::advance() {
  const Measurements& measured = *profile_.measured;
  const std::size_t interval = next_++;
  for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
    if (forgotten_[vm]) continue;
    vms_[vm] = measured.vms[interval][vm];
    if (profile_.spec.scope == DistanceScope::kInterval && interval > 0) {
      const DistanceLog& log = measured.distances[vm];
      curves_[vm].remove(log.within(interval - 1), profile_.spec.distance_limit);
    }
    add_interval(profile_, interval, vm, curves_[vm]);
  }
}

void ProfileReader::forget(VmId vm) {
  forgotten_[vm] = true;
  vms_[vm] = {};
  curves_[vm] = {};
}

absl::StatusOr<Characterised> characterise(const Accesses& trace,
                                           std::span<const ProfileSpec> specs, const Tick& tick,
                                           int threads) {
  for (const ProfileSpec& spec : specs) MCSIM_RETURN_IF_ERROR(check(trace, spec));
  return guarded("characterise", [&] {
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    return arena.execute([&] { return measure(trace, specs, tick); });
  });
}

}  // namespace mcsim
