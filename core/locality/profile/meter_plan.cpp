#include "core/locality/profile/meter_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/locality/profile/meter_checks.hpp"

namespace mcsim {
namespace {

// The spec without fields that only affect reading, and without those of no effect.
MeterSpec measured_by(MeterSpec spec, bool has_writes) {
  const auto settle = [&](OpFilter& ops) {
    if (!has_writes) ops = OpFilter::kAll;
  };
  auto* const window = window_of<Duration>(spec.what);
  if (window != nullptr && window->ns == 0) window->ns = spec.clock.period;
  if (auto* curve = std::get_if<CurveMeter>(&spec.what)) {
    settle(curve->ops);
    if (!has_writes) curve->between = Between::kAll;
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

void require(const MeterSpec& spec, PassInputs& inputs) {
  if (const auto* curve = std::get_if<CurveMeter>(&spec.what)) {
    inputs.reads_apart |= curve->between == Between::kReads;
    inputs.reads_around |= curve->between == Between::kAround;
    inputs.operations |= curve->ops == OpFilter::kReads;
  } else if (const auto* distinct = std::get_if<DistinctMeter>(&spec.what)) {
    inputs.reads_apart |= distinct->ops == OpFilter::kReads;
  } else if (const auto* intensity = std::get_if<IntensityMeter>(&spec.what)) {
    inputs.reads_apart |= intensity->ops == OpFilter::kReads;
  } else if (std::holds_alternative<ClassMeter>(spec.what)) {
    inputs.operations = inputs.previous_operations = true;
  }
}

}  // namespace

bool is_whole(const MeterSpec& spec) {
  const auto* curve = std::get_if<CurveMeter>(&spec.what);
  return curve != nullptr && curve->foresight == Foresight::kWhole;
}

MeterSpec measured_as(const MeterSpec& spec) { return measured_by(spec, true); }

std::shared_ptr<const Cuts> cuts_of(std::span<const Piece> periods) {
  Cuts cuts{0};
  for (const Piece& period : periods) cuts.push_back(period.cut);
  return std::make_shared<const Cuts>(std::move(cuts));
}

MeterPlan::MeterPlan(const Accesses& trace, std::span<const MeterSpec> specs,
                     std::span<const Characterised> known)
    : trace_(trace),
      known_(known),
      has_writes_(std::ranges::find(trace.request_op, static_cast<std::uint8_t>(Op::kWrite)) !=
                  trace.request_op.end()) {
  // Pass objects point to meters: no meter may move after its results were allocated.
  for (const MeterSpec& spec : specs) {
    const MeterSpec wanted = measured_by(spec, has_writes_);
    TimerGroup& group = group_of(wanted.clock);
    if (find_known(wanted) != nullptr) continue;
    if (std::ranges::find(group.meters, wanted, &TimerGroup::Meter::spec) == group.meters.end()) {
      group.meters.push_back({.spec = wanted, .windows = {}, .measured = nullptr});
    }
    if (has_writes_) require(wanted, inputs_);
  }
  for (TimerGroup& group : groups_) {
    for (TimerGroup::Meter& meter : group.meters) make_room(group, meter);
  }
}

MeterSetup MeterPlan::setup(const TimerGroup& group, const TimerGroup::Meter& meter) const {
  return {.trace = trace_,
          .spec = meter.spec,
          .periods = group.periods,
          .windows = meter.windows,
          .has_writes = has_writes_};
}

std::shared_ptr<const std::vector<HitCurve>> MeterPlan::known_curves() const {
  for (const Characterised& part : known_) {
    if (part.whole_curves->size() == trace_.vms.size()) return part.whole_curves;
  }
  return nullptr;
}

bool MeterPlan::is_all_known() const {
  return known_curves() != nullptr && std::ranges::all_of(groups_, [](const TimerGroup& group) {
           return std::ranges::all_of(group.meters, is_whole, &TimerGroup::Meter::spec);
         });
}

absl::StatusOr<MeterResult> MeterPlan::metered(
    const MeterSpec& spec, const std::shared_ptr<const std::vector<HitCurve>>& whole_curves) {
  const MeterSpec wanted = measured_by(spec, has_writes_);
  const TimerGroup& group = group_of(wanted.clock);
  MeterResult result{.spec = spec,
                     .cuts = group.cuts,
                     .measured = nullptr,
                     .vms = trace_.vms.size(),
                     .whole_curves = is_whole(spec) ? whole_curves : nullptr};
  const MeterResult* const known = find_known(wanted);
  if (known == nullptr) {
    result.measured = std::ranges::find(group.meters, wanted, &TimerGroup::Meter::spec)->measured;
  } else if (known->vms == result.vms && *known->cuts == *group.cuts) {
    result.measured = known->measured;
  } else {
    return invalid_argument("known: meter '{}' is of another trace", name_of(spec.what));
  }
  return result;
}

TimerGroup& MeterPlan::group_of(const TimerClock& clock) {
  const auto same = std::ranges::find(groups_, clock, &TimerGroup::clock);
  if (same != groups_.end()) return *same;
  TimerGroup& added = groups_.emplace_back();
  added.clock = clock;
  added.periods = pieces(trace_.request_time, clock.period, clock.drifting);
  added.cuts = cuts_of(added.periods);
  return added;
}

// Returns a known meter with the same measurement, null if there is none.
const MeterResult* MeterPlan::find_known(const MeterSpec& wanted) const {
  for (const Characterised& part : known_) {
    for (const MeterResult& metered : part.meters) {
      if (measured_by(metered.spec, has_writes_) == wanted) return &metered;
    }
  }
  return nullptr;
}

void MeterPlan::make_room(TimerGroup& group, TimerGroup::Meter& meter) const {
  if (const auto* intensity = std::get_if<IntensityMeter>(&meter.spec.what)) {
    meter.windows = pieces(trace_.request_time, intensity->window.ns, group.clock.drifting);
  }
  meter.measured = std::make_shared<MeterValues>(empty_values(setup(group, meter)));
}

}  // namespace mcsim
