#include "core/locality/profile/characterise.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/locality/profile/meter_checks.hpp"
#include "core/locality/profile/meter_plan.hpp"
#include "core/locality/profile/vm_pass.hpp"
#include "core/trace/discards_by_vm.hpp"

namespace mcsim {
namespace {

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

// Accesses in a slab: few enough for frequent ticks between slabs, and enough that passing VMs to
// threads is cheap.
constexpr std::uint64_t kSlabAccesses = std::uint64_t{1} << 20;

// Returns the requests of a slab, which starts at `begin` and ends at `end` or before.
RequestRange next_slab(const Accesses& trace, std::size_t begin, std::size_t end) {
  const auto first = trace.request_begin.begin();
  const auto beyond = std::upper_bound(first + static_cast<std::ptrdiff_t>(begin + 1),
                                       first + static_cast<std::ptrdiff_t>(end),
                                       trace.request_begin[begin] + kSlabAccesses);
  return {begin, static_cast<std::size_t>(beyond - first)};
}

// Replays the requests of every VM, slab by slab, VMs in parallel.
absl::Status replay(const Accesses& trace, std::vector<VmPass>& vms, const Tick& tick) {
  RequestsByVm by_vm(vms.size());
  tbb::enumerable_thread_specific<Batch> batches;
  std::uint64_t next_tick = kSlabAccesses;
  for (std::size_t r = 0; r < trace.request_count();) {
    const RequestRange slab = next_slab(trace, r, trace.request_count());
    by_vm.assign(trace, slab);
    tbb::parallel_for(std::size_t{0}, vms.size(),
                      [&](std::size_t vm) { vms[vm].replay(by_vm.of(vm), batches.local()); });
    trace.release_pages(slab);
    r = slab.end;
    if (const std::uint64_t done = trace.request_begin[r]; tick && done >= next_tick) {
      MCSIM_RETURN_IF_ERROR(tick(static_cast<Count>(done)));
      next_tick = done + kSlabAccesses;
    }
  }
  tbb::parallel_for(std::size_t{0}, vms.size(), [&](std::size_t vm) { vms[vm].finish(); });
  return absl::OkStatus();
}

// The samples of all VMs by window, then by VM. Each VM's samples are ordered by window.
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
  std::vector<std::size_t> next(windows.size() + 1);  // index of a window's next sample
  for_each([&](std::size_t window, const RiSample&) { ++next[window + 1]; });
  std::inclusive_scan(next.begin(), next.end(), next.begin());
  std::vector<RiSample> samples(next.back());
  for_each([&](std::size_t window, const RiSample& sample) { samples[next[window]++] = sample; });
  return samples;
}

// Completes a meter after the passes of all VMs: frees spare memory of logs and merges the VMs'
// series.
void finish(const std::vector<VmPass>& vms, std::size_t group, std::size_t meter,
            std::span<const Piece> windows, MeterValues& measured) {
  if (auto* logs = std::get_if<std::vector<DistanceLog>>(&measured)) {
    for (DistanceLog& log : *logs) log.shrink_to_fit();
  }
  auto* series = std::get_if<IntensitySeries>(&measured);
  if (series == nullptr) return;
  series->samples =
      by_window(windows, vms.size(), [&](std::size_t vm) { return vms[vm].samples(group, meter); });
}

absl::StatusOr<std::shared_ptr<const std::vector<HitCurve>>> measure(const Accesses& trace,
                                                                     MeterPlan& plan,
                                                                     const Tick& tick) {
  std::vector<std::vector<Discard>> discards = discards_by_vm(trace);
  std::vector<VmPass> vms;
  vms.reserve(trace.vms.size());
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    vms.emplace_back(trace, plan, static_cast<VmId>(vm), std::move(discards[vm]));
  }
  MCSIM_RETURN_IF_ERROR(replay(trace, vms, tick));
  for (std::size_t group = 0; group < plan.groups().size(); ++group) {
    std::size_t in_pass = 0;
    for (TimerGroup::Meter& meter : plan.groups()[group].meters) {
      if (is_whole(meter.spec)) continue;
      finish(vms, group, in_pass++, meter.windows, *meter.measured);
    }
  }
  auto whole = std::make_shared<std::vector<HitCurve>>();
  for (const VmPass& vm : vms) whole->push_back(vm.whole_curve());
  return whole;
}

absl::StatusOr<Characterised> find_all(const Accesses& trace, std::span<const MeterSpec> specs,
                                       const Tick& tick, std::span<const Characterised> known) {
  MeterPlan plan(trace, specs, known);
  Characterised found{.meters = {}, .whole_curves = plan.known_curves()};
  if (!plan.is_all_known()) {
    MCSIM_ASSIGN_OR_RETURN(found.whole_curves, measure(trace, plan, tick));
  }
  for (const MeterSpec& spec : specs) {
    MCSIM_ASSIGN_OR_RETURN(MeterResult metered, plan.metered(spec, found.whole_curves));
    found.meters.push_back(std::move(metered));
  }
  return found;
}

}  // namespace

const MeterResult* Characterised::find(const MeterSpec& spec) const {
  const auto found = std::ranges::find(meters, spec, &MeterResult::spec);
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
