#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// Empty results of each kind of meter.
struct EmptyValues {
  const MeterSetup& setup;

  std::vector<DistanceLog> operator()(const CurveMeter& meter) const {
    if (meter.foresight == Foresight::kWhole) return {};
    const DistanceLog log(setup.periods_in(meter.window));
    return std::vector<DistanceLog>(setup.trace.vms.size(), log);
  }
  Series<Load> operator()(const LoadMeter&) const { return series<Load>(); }
  Series<Count> operator()(const DistinctMeter&) const { return series<Count>(); }
  IntensitySeries operator()(const IntensityMeter&) const { return {series<Intensity>(), {}}; }
  Series<ClassCounts> operator()(const ClassMeter&) const { return series<ClassCounts>(); }
  Series<Responses> operator()(const ResponseMeter&) const { return series<Responses>(); }

 private:
  template <class T>
  Series<T> series() const {
    return Series<T>(setup.periods.size(), std::vector<T>(setup.trace.vms.size()));
  }
};

}  // namespace

MeterValues empty_values(const MeterSetup& setup) {
  return std::visit([&](const auto& meter) { return MeterValues(EmptyValues{setup}(meter)); },
                    setup.spec.what);
}

TraceMeterPtr make_meter(const MeterSetup& setup, VmId vm, MeterValues& into) {
  const auto make = [&](const auto& meter) {
    using Found = decltype(EmptyValues{setup}(meter));
    return make_meter(meter, setup, vm, std::get<Found>(into));
  };
  return std::visit(make, setup.spec.what);
}

}  // namespace mcsim
