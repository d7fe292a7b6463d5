#include "core/locality/profile/meter_reader.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <type_traits>

namespace mcsim {
namespace {

const CurveMeter& curve_of(const MeterResult& metered) {
  return std::get<CurveMeter>(metered.spec.what);
}

// The period that a meter shows after `begun` periods have begun.
std::optional<std::size_t> visible_period(const MeterResult& metered, std::size_t begun) {
  const auto* curve = std::get_if<CurveMeter>(&metered.spec.what);
  const bool next = curve != nullptr && curve->foresight == Foresight::kNext;
  const std::size_t behind = next ? 1 : 2;
  if (begun < behind || begun - behind >= metered.periods()) return std::nullopt;
  return begun - behind;
}

// Adds a period to a curve and removes the accesses that leave its scope.
void advance_curve(const MeterResult& metered, std::size_t period, std::size_t vm,
                   RunningCurve& curve) {
  assert(vm < metered.vms && period < metered.periods());
  const DistanceLog& log = std::get<std::vector<DistanceLog>>(*metered.measured)[vm];
  const CurveMeter& meter = curve_of(metered);
  const std::size_t window = log.ages();
  const bool within = meter.scope == DistanceScope::kInterval;
  for (std::size_t age = 0; age < window + (within ? 0 : 1); ++age) {
    curve.add(log.of(period, age), meter.distance_limit);
    if (meter.scope == DistanceScope::kCumulative) continue;
    // An access of a period in the window no longer counts if its block's previous access was in
    // the period that left the window.
    const std::size_t back = within ? window - age : window;
    if (period >= back) curve.remove(log.of(period - back, age), meter.distance_limit);
  }
  Count accesses = curve.accesses() + log.accesses(period);
  if (meter.scope != DistanceScope::kCumulative && period >= window) {
    accesses -= log.accesses(period - window);
  }
  curve.set_accesses(accesses);
}

// Calls `see` with the series of a meter that is not a curve.
template <class See>
void visit_rows(const MeterValues& measured, See see) {
  std::visit(
      [&]<class T>(const T& of) {
        if constexpr (std::is_same_v<T, IntensitySeries>) {
          see(of.values);
        } else if constexpr (!std::is_same_v<T, std::vector<DistanceLog>>) {
          see(of);
        }
      },
      measured);
}

}  // namespace

MeterReader::MeterReader(const MeterResult& metered) : metered_(metered), forgotten_(metered.vms) {
  if (std::holds_alternative<CurveMeter>(metered.spec.what)) curves_.resize(metered.vms);
  visit_rows(*metered.measured,
             [&]<class T>(const Series<T>&) { rows_ = std::vector<T>(metered.vms); });
}

void MeterReader::advance() {
  ++begun_;
  if (std::holds_alternative<CurveMeter>(metered_.spec.what)) return read_curves();
  const std::optional<std::size_t> period = visible_period(metered_, begun_);
  if (!period) return;
  visit_rows(*metered_.measured, [&]<class T>(const Series<T>& series) {
    auto& rows = std::get<std::vector<T>>(rows_);
    for (std::size_t vm = 0; vm < rows.size(); ++vm) {
      if (!forgotten_[vm]) rows[vm] = series[*period][vm];
    }
  });
}

void MeterReader::read_curves() {
  const CurveMeter& meter = curve_of(metered_);
  const bool all = meter.foresight == Foresight::kWhole;
  const std::optional<std::size_t> period = visible_period(metered_, begun_);
  for (std::size_t vm = 0; vm < curves_.size(); ++vm) {
    if (forgotten_[vm]) continue;
    if (all && begun_ == 1) {
      curves_[vm] = RunningCurve::of((*metered_.whole_curves)[vm], meter.distance_limit);
    }
    if (!all && period) advance_curve(metered_, *period, vm, curves_[vm]);
  }
}

void MeterReader::forget(VmId vm) {
  assert(vm < metered_.vms);
  forgotten_[vm] = true;
  if (!curves_.empty()) curves_[vm] = {};
  std::visit(
      [&](auto& rows) {
        if (!rows.empty()) rows[vm] = {};
      },
      rows_);
}

Reading MeterReader::reading() const {
  Reading reading;
  if (!curves_.empty()) {
    reading.curves = curves_;
    return reading;
  }
  struct Show {
    Reading& reading;
    void operator()(const std::vector<Load>& rows) const { reading.loads = rows; }
    void operator()(const std::vector<Count>& rows) const { reading.distinct = rows; }
    void operator()(const std::vector<Intensity>& rows) const { reading.intensities = rows; }
    void operator()(const std::vector<ClassCounts>& rows) const { reading.classes = rows; }
    void operator()(const std::vector<Responses>& rows) const { reading.responses = rows; }
  };
  std::visit(Show{reading}, rows_);
  return reading;
}

HitCurve curve_at(const MeterResult& metered, std::size_t begun, VmId vm) {
  const CurveMeter& meter = curve_of(metered);
  if (meter.foresight == Foresight::kWhole) {
    return RunningCurve::of((*metered.whole_curves)[vm], meter.distance_limit).curve();
  }
  RunningCurve curve;
  for (std::size_t b = 1; b <= begun; ++b) {
    const std::optional<std::size_t> period = visible_period(metered, b);
    if (period) advance_curve(metered, *period, vm, curve);
  }
  return curve.curve();
}

}  // namespace mcsim
