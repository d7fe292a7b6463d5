#include "core/locality/profile/meter_checks.hpp"

#include <limits>

#include "core/trace/intervals.hpp"

namespace mcsim {
namespace {

// The maximum number of periods of a window that distinguishes blocks by period.
constexpr Nanoseconds kMostPeriods = 256;

absl::Status check_window(const Accesses& trace, const TimerClock& clock, Duration window) {
  if (window.ns % clock.period == 0 && window.ns >= 0) return absl::OkStatus();
  return invalid_argument("window: expected a whole number of periods of {0} {2}, got {1} {2}",
                          clock.period, window.ns,
                          trace.time_base == TimeBase::kClock ? "ns" : "references");
}

// Checks a meter that stores in which period of its window a block was accessed.
absl::Status check_ages(const TimerClock& clock, Duration window) {
  const Nanoseconds periods = window.ns / clock.period;
  if (periods <= kMostPeriods) return absl::OkStatus();
  return invalid_argument("window: expected at most {} periods, got {}", kMostPeriods, periods);
}

absl::Status check_curve(const TimerClock& clock, const CurveMeter& curve) {
  if (curve.distance_limit < 0) {
    return invalid_argument("distance_limit: must be 0 (none) or positive, got {}",
                            curve.distance_limit);
  }
  if (curve.ops == OpFilter::kAll && curve.between != Between::kAll) {
    return invalid_argument("between: '{}' needs ops: reads", name_of(curve.between));
  }
  if (curve.foresight == Foresight::kWhole && curve.ops == OpFilter::kReads) {
    return invalid_argument("foresight: 'whole' needs ops: all");
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
    return invalid_argument("the trace was interned without response times; intern it with them");
  }
  const auto* load = std::get_if<LoadMeter>(&spec.what);
  if (load != nullptr && load->bytes && !trace.keeps_bytes) {
    return invalid_argument(
        "the trace was interned without the bytes of requests; intern it with them");
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

}  // namespace mcsim
