#include "core/locality/profile/characterise.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/base/prefetch.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

struct Wants {
  bool reads_apart = false;  // distances of reads among each other
  bool operations = false;   // of each access
  bool last_ones = false;    // of each access, that of the last to its block
};

// Of so many periods it is told in which of them a block was accessed, each at a cost.
constexpr Nanoseconds kMostPeriods = 256;

// The window of a meter that is made of periods; null if it has none.
template <class Window, class Meter>
Window* window_of(Meter& meter) {
  return std::visit(
      [](auto& of) -> Window* {
        using Kind = std::remove_cvref_t<decltype(of)>;
        if constexpr (std::is_same_v<Kind, IntensityMeter>) {
          return nullptr;
        } else {
          return &of.window;
        }
      },
      meter);
}

absl::Status check_window(const Accesses& trace, const TimerClock& clock, Duration window) {
  if (window.ns % clock.period == 0 && window.ns >= 0) return absl::OkStatus();
  return invalid_argument("window: expected a whole number of periods of {0} {2}, got {1} {2}",
                          clock.period, window.ns,
                          trace.time_base == TimeBase::kClock ? "ns" : "references");
}

// Of a meter that tells in which period of its window a block was accessed.
absl::Status check_ages(const TimerClock& clock, Duration window) {
  const Nanoseconds periods = window.ns / clock.period;
  if (periods <= kMostPeriods) return absl::OkStatus();
  return invalid_argument("window: at most {} periods can be told apart, got {}", kMostPeriods,
                          periods);
}

absl::Status check_curve(const TimerClock& clock, const CurveMeter& curve) {
  if (curve.distance_limit < 0) {
    return invalid_argument("distance_limit: must be 0 (none) or positive, got {}",
                            curve.distance_limit);
  }
  if (curve.ops == OpFilter::kAll && curve.between == OpFilter::kReads) {
    return invalid_argument("between: reads alone have distances among the reads; say ops: reads");
  }
  if (curve.foresight == Foresight::kWhole && curve.ops == OpFilter::kReads) {
    return invalid_argument("foresight: the whole trace is known of all operations alone");
  }
  const bool windowed = curve.scope != DistanceScope::kCumulative;
  return windowed ? check_ages(clock, curve.window) : absl::OkStatus();
}

absl::Status check_distinct(const DistinctMeter& distinct) {
  constexpr Count kMostReuses = std::numeric_limits<std::uint32_t>::max() - 1;
  if (distinct.reuses >= 0 && distinct.reuses <= kMostReuses) return absl::OkStatus();
  return invalid_argument("reuses: expected 0 to {}, got {}", kMostReuses, distinct.reuses);
}

absl::Status check_params(const Accesses& trace, const MeterSpec& spec) {
  if (const auto* intensity = std::get_if<IntensityMeter>(&spec.what)) {
    return check_intervals(trace.request_time, trace.time_base, "window", intensity->window.ns,
                           std::uint64_t{1} << 25);
  }
  MCSIM_RETURN_IF_ERROR(check_window(trace, spec.clock, *window_of<const Duration>(spec.what)));
  if (const auto* curve = std::get_if<CurveMeter>(&spec.what)) {
    return check_curve(spec.clock, *curve);
  }
  if (const auto* distinct = std::get_if<DistinctMeter>(&spec.what)) {
    return check_distinct(*distinct);
  }
  const auto* classes = std::get_if<ClassMeter>(&spec.what);
  if (classes != nullptr && classes->scope == DistanceScope::kInterval) {
    return check_ages(spec.clock, classes->window);
  }
  if (std::holds_alternative<ResponseMeter>(spec.what) && !trace.keeps_responses) {
    return invalid_argument("the trace was interned without response times; say so there");
  }
  const auto* load = std::get_if<LoadMeter>(&spec.what);
  if (load != nullptr && load->bytes && !trace.keeps_bytes) {
    return invalid_argument("the trace was interned without the bytes of requests; say so there");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_meter(const Accesses& trace, const MeterSpec& spec) {
  MCSIM_RETURN_IF_ERROR(
      check_intervals(trace.request_time, trace.time_base, "interval", spec.clock.period));
  const absl::Status params = check_params(trace, spec);
  if (params.ok()) return params;
  return absl::Status(params.code(),
                      fmt::format("meter '{}': {}", name_of(spec.what), message_of(params)));
}

namespace {

// The spec without what only the look at it depends on, and what makes no difference.
MeterSpec measured_by(MeterSpec spec, bool has_writes) {
  const auto settle = [&](OpFilter& ops) {
    if (!has_writes) ops = OpFilter::kAll;
  };
  auto* const window = window_of<Duration>(spec.what);
  if (window != nullptr && window->ns == 0) window->ns = spec.clock.period;
  if (auto* curve = std::get_if<CurveMeter>(&spec.what)) {
    settle(curve->ops);
    settle(curve->between);
    if (curve->scope == DistanceScope::kCumulative) curve->window.ns = spec.clock.period;
    if (curve->foresight == Foresight::kNext) curve->foresight = {};
    curve->scope = {};
    curve->distance_limit = 0;
  } else if (auto* distinct = std::get_if<DistinctMeter>(&spec.what)) {
    settle(distinct->ops);
  } else if (auto* intensity = std::get_if<IntensityMeter>(&spec.what)) {
    settle(intensity->ops);
  } else if (auto* classes = std::get_if<ClassMeter>(&spec.what)) {
    if (classes->scope == DistanceScope::kCumulative) classes->window.ns = spec.clock.period;
  }
  return spec;
}

// Whether the curves of the whole trace, which are there anyway, are all it takes.
bool is_whole(const MeterSpec& spec) {
  const auto* curve = std::get_if<CurveMeter>(&spec.what);
  return curve != nullptr && curve->foresight == Foresight::kWhole;
}

void want(const MeterSpec& spec, Wants& wants) {
  if (const auto* curve = std::get_if<CurveMeter>(&spec.what)) {
    wants.reads_apart |= curve->between == OpFilter::kReads;
    wants.operations |= curve->ops == OpFilter::kReads;
  } else if (const auto* distinct = std::get_if<DistinctMeter>(&spec.what)) {
    wants.reads_apart |= distinct->ops == OpFilter::kReads;
  } else if (const auto* intensity = std::get_if<IntensityMeter>(&spec.what)) {
    wants.reads_apart |= intensity->ops == OpFilter::kReads;
  } else if (std::holds_alternative<ClassMeter>(spec.what)) {
    wants.operations = wants.last_ones = true;
  }
}

// Meters that are read at the same times.
struct Clocked {
  TimerClock clock;
  std::vector<Piece> periods;
  std::shared_ptr<const Cuts> cuts;
  struct Meter {
    MeterSpec spec;
    std::vector<Piece> windows;
    std::shared_ptr<Measured> measured;
  };
  std::vector<Meter> meters;
};

// All that is measured of a trace: each thing once, and nothing that is known.
class Plan {
 public:
  Plan(const Accesses& trace, std::span<const MeterSpec> specs,
       std::span<const Characterised> known)
      : trace_(trace),
        known_(known),
        has_writes_(std::ranges::find(trace.request_op, static_cast<std::uint8_t>(Op::kWrite)) !=
                    trace.request_op.end()) {
    // Meters are pointed to: none may move once it is there.
    for (const MeterSpec& spec : specs) {
      const MeterSpec wanted = measured_by(spec, has_writes_);
      Clocked& at = clocked(wanted.clock);
      if (find_known(wanted) != nullptr) continue;
      if (std::ranges::find(at.meters, wanted, &Clocked::Meter::spec) == at.meters.end()) {
        at.meters.push_back({.spec = wanted, .windows = {}, .measured = nullptr});
      }
      if (has_writes_) want(wanted, wants_);
    }
    for (Clocked& at : clocked_) {
      for (Clocked::Meter& meter : at.meters) make_room(at, meter);
    }
  }

  const Wants& wants() const { return wants_; }
  std::span<Clocked> clocked() { return clocked_; }
  MeterSetup setup(const Clocked& at, const Clocked::Meter& meter) const {
    return {.trace = trace_,
            .spec = meter.spec,
            .periods = at.periods,
            .windows = meter.windows,
            .has_writes = has_writes_};
  }

  // Null if they are not known.
  std::shared_ptr<const std::vector<HitCurve>> known_curves() const {
    for (const Characterised& part : known_) {
      if (part.whole_curves->size() == trace_.vms.size()) return part.whole_curves;
    }
    return nullptr;
  }
  // Whether no pass over the trace is needed.
  bool is_all_known() const {
    return known_curves() != nullptr && std::ranges::all_of(clocked_, [](const Clocked& at) {
             return std::ranges::all_of(at.meters, is_whole, &Clocked::Meter::spec);
           });
  }

  absl::StatusOr<Metered> metered(const MeterSpec& spec) {
    const MeterSpec wanted = measured_by(spec, has_writes_);
    const Clocked& at = clocked(wanted.clock);
    Metered result{.spec = spec,
                   .cuts = at.cuts,
                   .measured = nullptr,
                   .vms = trace_.vms.size(),
                   .whole_curves = nullptr};
    const Metered* const known = find_known(wanted);
    if (known == nullptr) {
      result.measured = std::ranges::find(at.meters, wanted, &Clocked::Meter::spec)->measured;
    } else if (known->vms == result.vms && *known->cuts == *at.cuts) {
      result.measured = known->measured;
    } else {
      return invalid_argument("known: meter '{}' is of another trace", name_of(spec.what));
    }
    return result;
  }

 private:
  Clocked& clocked(const TimerClock& clock) {
    const auto same = std::ranges::find(clocked_, clock, &Clocked::clock);
    if (same != clocked_.end()) return *same;
    Clocked& added = clocked_.emplace_back();
    added.clock = clock;
    added.periods = pieces(trace_.request_time, clock.period, clock.drifting);
    added.cuts = cuts_of(added.periods);
    return added;
  }

  // What shows the same as a meter that is `measured_by` itself; null if there is none.
  const Metered* find_known(const MeterSpec& wanted) const {
    for (const Characterised& part : known_) {
      for (const Metered& metered : part.meters) {
        if (measured_by(metered.spec, has_writes_) == wanted) return &metered;
      }
    }
    return nullptr;
  }

  void make_room(Clocked& at, Clocked::Meter& meter) const {
    if (const auto* intensity = std::get_if<IntensityMeter>(&meter.spec.what)) {
      meter.windows = pieces(trace_.request_time, intensity->window.ns, at.clock.drifting);
    }
    meter.measured = std::make_shared<Measured>(room_for(setup(at, meter)));
  }

  const Accesses& trace_;
  std::span<const Characterised> known_;
  bool has_writes_;
  Wants wants_;
  std::vector<Clocked> clocked_;
};

// Accesses of one VM, request by request, and what is known of each.
struct Batch {
  std::span<const std::size_t> requests;
  std::vector<std::uint32_t> blocks;
  std::vector<Count> distances;
  std::vector<std::uint8_t> writes;
  std::vector<std::uint8_t> written_before;
  std::vector<std::uint32_t> read_blocks;
  std::vector<Count> read_distances;
};

// The meters of one VM that are read at the same times.
class ClockedMeters {
 public:
  ClockedMeters(const Accesses& trace, const Plan& plan, Clocked& at, VmId vm)
      : trace_(trace), periods_(at.periods) {
    for (Clocked::Meter& meter : at.meters) {
      meters_.push_back(make_meter(plan.setup(at, meter), vm, *meter.measured));
    }
    std::erase(meters_, nullptr);
  }

  void count(const Batch& batch, bool reads_apart) {
    if (meters_.empty()) return;
    std::size_t first = 0;
    Place begin;
    Place end;
    const auto count_stretch = [&](std::size_t i) {
      count_between(batch, batch.requests.subspan(first, i - first), begin, end, reads_apart);
      first = i;
      begin = end;
    };
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
      const std::size_t r = batch.requests[i];
      if (r >= next_cut_) {
        count_stretch(i);
        cut_before(r);
      }
      const auto accesses = static_cast<std::size_t>(trace_.accesses_in({r, r + 1}));
      end.access += accesses;
      if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) end.read += accesses;
    }
    count_stretch(batch.requests.size());
  }

  void finish() {
    while (period_ < periods_.size()) end_period();
  }

  // Of the meters that are there, in their order.
  std::span<const std::unique_ptr<TraceMeter>> meters() const { return meters_; }

 private:
  // In a batch: among all accesses, and among the reads.
  struct Place {
    std::size_t access = 0;
    std::size_t read = 0;
  };

  void count_between(const Batch& batch, std::span<const std::size_t> requests, Place begin,
                     Place end, bool reads_apart) {
    const auto part = [&](const std::vector<std::uint8_t>& of) {
      const std::span<const std::uint8_t> all(of);
      return all.empty() ? all : all.subspan(begin.access, end.access - begin.access);
    };
    Chunk chunk{.requests = requests,
                .all = Stream{batch.blocks, batch.distances}.slice(begin.access, end.access),
                .reads = {},
                .writes = part(batch.writes),
                .written_before = part(batch.written_before)};
    const Stream reads{batch.read_blocks, batch.read_distances};
    chunk.reads = reads_apart ? reads.slice(begin.read, end.read) : chunk.all;
    for (const auto& meter : meters_) meter->count(chunk);
  }

  void cut_before(std::size_t r) {
    while (r >= periods_[period_].cut) end_period();
    next_cut_ = periods_[period_].cut;
    for (const auto& meter : meters_) {
      meter->begin_request(r);
      next_cut_ = std::min(next_cut_, meter->next_cut());
    }
  }

  void end_period() {
    for (const auto& meter : meters_) meter->end_period(period_);
    ++period_;
  }

  const Accesses& trace_;
  std::span<const Piece> periods_;
  std::vector<std::unique_ptr<TraceMeter>> meters_;
  std::size_t period_ = 0;
  std::size_t next_cut_ = 0;  // before that request something ends
};

// Everything measured of one VM. It sees the VM's requests alone, so the VMs
// can be worked on in parallel.
class VmMeters {
 public:
  VmMeters(const Accesses& trace, Plan& plan, VmId vm)
      : trace_(trace),
        first_id_(trace.vms[vm].first_id),
        wants_(plan.wants()),
        distances_(blocks_of(trace, vm)) {
    if (wants_.reads_apart) read_distances_.emplace(blocks_of(trace, vm));
    if (wants_.last_ones) written_.resize(blocks_of(trace, vm));
    for (Clocked& at : plan.clocked()) clocked_.emplace_back(trace, plan, at, vm);
  }

  void replay(std::span<const std::size_t> requests, Batch& batch) {
    while (!requests.empty()) {
      if (requests.front() >= trace_.warm_up) end_warm_up();
      batch.requests = requests.first(fill(requests, batch.blocks));
      batch.distances.resize(batch.blocks.size());
      distances_.process(batch.blocks, batch.distances);
      if (wants_.operations || wants_.reads_apart) look_at_operations(batch);
      for (ClockedMeters& meters : clocked_) meters.count(batch, wants_.reads_apart);
      requests = requests.subspan(batch.requests.size());
    }
  }

  void finish() {
    end_warm_up();
    for (ClockedMeters& meters : clocked_) meters.finish();
  }

  HitCurve whole_curve() const { return HitCurve(distances_.histogram()); }
  std::span<const RiSample> samples(std::size_t clocked, std::size_t meter) const {
    return clocked_[clocked].meters()[meter]->samples();
  }

 private:
  // Few enough that their distances stay near, many enough that the engine gets going.
  static constexpr std::size_t kBatchAccesses = std::size_t{1} << 14;

  static std::size_t blocks_of(const Accesses& trace, VmId vm) {
    return static_cast<std::size_t>(trace.vms[vm].unique_blocks);
  }

  // The blocks of the first requests, of the warm-up alone or none of it; returns how many
  // requests these are.
  std::size_t fill(std::span<const std::size_t> requests,
                   std::vector<std::uint32_t>& blocks) const {
    blocks.clear();
    std::size_t taken = 0;
    for (const std::size_t r : requests) {
      prefetch(requests, taken);
      if (blocks.size() >= kBatchAccesses || (!warm_ && r >= trace_.warm_up)) break;
      for (const BlockId id : trace_.blocks_of(r)) blocks.push_back(id - first_id_);
      ++taken;
    }
    return taken;
  }

  // Requests of one VM among many lie far from each other.
  void prefetch(std::span<const std::size_t> requests, std::size_t i) const {
    constexpr std::size_t kAhead = 16;
    if (i + 2 * kAhead < requests.size()) {
      const std::size_t r = requests[i + 2 * kAhead];
      prefetch_line(&trace_.request_begin[r]);
      prefetch_line(&trace_.request_op[r]);
    }
    if (i + kAhead < requests.size()) {
      prefetch_line(trace_.ids.data() + trace_.request_begin[requests[i + kAhead]]);
    }
  }

  void look_at_operations(Batch& batch) {
    batch.writes.clear();
    batch.written_before.clear();
    batch.read_blocks.clear();
    for (const std::size_t r : batch.requests) {
      const std::uint8_t op = trace_.request_op[r];
      const bool reads = static_cast<Op>(op) == Op::kRead;
      for (const BlockId id : trace_.blocks_of(r)) {
        const std::uint32_t block = id - first_id_;
        if (wants_.operations) batch.writes.push_back(op);
        if (wants_.last_ones) batch.written_before.push_back(std::exchange(written_[block], op));
        if (wants_.reads_apart && reads) batch.read_blocks.push_back(block);
      }
    }
    if (!wants_.reads_apart) return;
    batch.read_distances.resize(batch.read_blocks.size());
    read_distances_->process(batch.read_blocks, batch.read_distances);
  }

  void end_warm_up() {
    if (!warm_) distances_.clear_counts();
    warm_ = true;
  }

  const Accesses& trace_;
  BlockId first_id_;
  Wants wants_;
  DenseDistances distances_;
  std::optional<DenseDistances> read_distances_;
  std::vector<std::uint8_t> written_;  // by block: whether the last access was a write
  std::vector<ClockedMeters> clocked_;
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

// Has every VM replay its requests, slab by slab.
absl::Status replay(const Accesses& trace, std::vector<VmMeters>& vms, const Tick& tick) {
  RequestsByVm by_vm(vms.size());
  tbb::enumerable_thread_specific<Batch> batches;
  std::uint64_t next_tick = kSlabAccesses;
  for (std::size_t r = 0; r < trace.request_count();) {
    const RequestRange slab = next_slab(trace, r, trace.request_count());
    by_vm.assign(trace, slab);
    tbb::parallel_for(std::size_t{0}, vms.size(),
                      [&](std::size_t vm) { vms[vm].replay(by_vm.of(vm), batches.local()); });
    trace.passed(slab);
    r = slab.end;
    if (const std::uint64_t done = trace.request_begin[r]; tick && done >= next_tick) {
      MCSIM_RETURN_IF_ERROR(tick(static_cast<Count>(done)));
      next_tick = done + kSlabAccesses;
    }
  }
  tbb::parallel_for(std::size_t{0}, vms.size(), [&](std::size_t vm) { vms[vm].finish(); });
  return absl::OkStatus();
}

// The samples of all VMs, each of which has them in the order of its windows: by window, then VM.
template <class SamplesOf>
std::vector<RiSample> by_window(std::span<const Piece> windows, std::size_t vms,
                                SamplesOf samples_of) {
  const auto for_each = [&](auto visit) {
    for (std::size_t vm = 0; vm < vms; ++vm) {
      std::size_t window = 0;
      for (const RiSample& sample : samples_of(vm)) {
        while (windows[window].end != sample.window_end) ++window;
        visit(window, sample);
      }
    }
  };
  std::vector<std::size_t> next(windows.size() + 1);  // place of a window's next sample
  for_each([&](std::size_t window, const RiSample&) { ++next[window + 1]; });
  std::inclusive_scan(next.begin(), next.end(), next.begin());
  std::vector<RiSample> samples(next.back());
  for_each([&](std::size_t window, const RiSample& sample) { samples[next[window]++] = sample; });
  return samples;
}

// What is to be done with a meter when all VMs are through: logs let go of spare memory, and
// the series of all VMs become one.
void finish(const std::vector<VmMeters>& vms, std::size_t clocked, std::size_t meter,
            std::span<const Piece> windows, Measured& measured) {
  if (auto* logs = std::get_if<std::vector<DistanceLog>>(&measured)) {
    for (DistanceLog& log : *logs) log.shrink_to_fit();
  }
  auto* series = std::get_if<IntensitySeries>(&measured);
  if (series == nullptr) return;
  series->samples = by_window(windows, vms.size(),
                              [&](std::size_t vm) { return vms[vm].samples(clocked, meter); });
}

absl::StatusOr<std::shared_ptr<const std::vector<HitCurve>>> measure(const Accesses& trace,
                                                                     Plan& plan, const Tick& tick) {
  std::vector<VmMeters> vms;
  vms.reserve(trace.vms.size());
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    vms.emplace_back(trace, plan, static_cast<VmId>(vm));
  }
  MCSIM_RETURN_IF_ERROR(replay(trace, vms, tick));
  for (std::size_t at = 0; at < plan.clocked().size(); ++at) {
    std::size_t there = 0;
    for (Clocked::Meter& meter : plan.clocked()[at].meters) {
      if (is_whole(meter.spec)) continue;
      finish(vms, at, there++, meter.windows, *meter.measured);
    }
  }
  auto whole = std::make_shared<std::vector<HitCurve>>();
  for (const VmMeters& vm : vms) whole->push_back(vm.whole_curve());
  return whole;
}

absl::StatusOr<Characterised> find_all(const Accesses& trace, std::span<const MeterSpec> specs,
                                       const Tick& tick, std::span<const Characterised> known) {
  Plan plan(trace, specs, known);
  Characterised found{.meters = {}, .whole_curves = plan.known_curves()};
  if (!plan.is_all_known()) {
    MCSIM_ASSIGN_OR_RETURN(found.whole_curves, measure(trace, plan, tick));
  }
  for (const MeterSpec& spec : specs) {
    MCSIM_ASSIGN_OR_RETURN(Metered metered, plan.metered(spec));
    if (is_whole(spec)) metered.whole_curves = found.whole_curves;
    found.meters.push_back(std::move(metered));
  }
  return found;
}

}  // namespace

MeterSpec measured_as(const MeterSpec& spec) { return measured_by(spec, true); }

std::shared_ptr<const Cuts> cuts_of(std::span<const Piece> periods) {
  Cuts cuts{0};
  for (const Piece& period : periods) cuts.push_back(period.cut);
  return std::make_shared<const Cuts>(std::move(cuts));
}

const Metered* Characterised::find(const MeterSpec& spec) const {
  const auto found = std::ranges::find(meters, spec, &Metered::spec);
  return found == meters.end() ? nullptr : &*found;
}

absl::StatusOr<Characterised> characterise(const Accesses& trace, std::span<const MeterSpec> specs,
                                           const Tick& tick, int threads,
                                           std::span<const Characterised> known) {
  for (const MeterSpec& spec : specs) MCSIM_RETURN_IF_ERROR(check_meter(trace, spec));
  return guarded("characterise", [&] {
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    return arena.execute([&] { return find_all(trace, specs, tick, known); });
  });
}

}  // namespace mcsim
