#include "bindings/src/python_system.hpp"

#include <functional>
#include <numeric>
#include <utility>

#include "bindings/src/meter_fields.hpp"
#include "policies/allocation/latency.hpp"

namespace mcsim::python {
namespace {

Count request_count(const VmCounters& vm) {
  const auto sum = [](const Served& served) {
    return std::accumulate(served.requests.begin(), served.requests.end(), Count{0});
  };
  return sum(vm.reads_served) + sum(vm.writes_served);
}

// Converts a reading to arrays by VM.
struct ReadingArrays {
  const Reading& reading;

  py::object operator()(const CurveMeter&) const {
    py::list curves;
    for (const RunningCurve& curve : reading.curves) curves.append(py::cast(curve.curve()));
    return curves;
  }
  py::object operator()(const LoadMeter& meter) const { return fields(meter, reading.loads); }
  py::object operator()(const DistinctMeter&) const {
    return column_of(reading.distinct, std::identity());
  }
  py::object operator()(const IntensityMeter&) const {
    return column_of(reading.intensities, &Intensity::value);
  }
  py::object operator()(const ClassMeter& meter) const { return fields(meter, reading.classes); }
  py::object operator()(const ResponseMeter& meter) const {
    return fields(meter, reading.responses);
  }

 private:
  static py::object fields(const auto& meter, auto rows) {
    py::dict all;
    visit_fields(meter, [&](const char* name, auto read) { all[name] = column_of(rows, read); });
    return all;
  }
};

// Return None if another timer fired.
py::object probe_arrays(std::span<const ProbeReading> readings) {
  if (readings.empty()) return py::none();
  py::dict all;
  for (const auto& [name, member] :
       std::array{MCSIM_FIELDS(ProbeReading, distinct_hits, touched, peak)}) {
    all[name] = column_of(readings, member);
  }
  return all;
}

void add_readings(const ObservedRun& run, const Observation& seen, py::dict& all) {
  py::dict meters;
  for (std::size_t i = 0; i < run.meters.size(); ++i) {
    (i < kUsualMeters ? all : meters)[run.meter_names[i].c_str()] =
        std::visit(ReadingArrays{seen.meter(run.meters[i].name)}, run.meters[i].what);
  }
  if (!run.probe_name.empty()) meters[run.probe_name.c_str()] = probe_arrays(seen.probe);
  all["meters"] = meters;
}

void add_machine(const ObservedRun& run, py::dict& all) {
  const Machine& machine = run.machine;
  py::list devices;
  for (const TierSpec& tier : machine.tiers) devices.append(py::cast(tier.device));
  devices.append(py::cast(machine.backend));
  all["devices"] = py::tuple(devices);
  all["capacities"] = read_only(column_of(machine.tiers, &TierSpec::capacity_blocks));
  all["tier_read_ns"] =
      read_only(column_of(machine.tiers, [](const TierSpec& tier) { return tier.device.read_ns; }));
  all["backend_read_ns"] = machine.backend.read_ns;
  all["vm_backend_ns"] =
      column_of(run.vm_names, [&](const std::string& vm) { return machine.backend_read_ns(vm); });
  all["hosts"] = py::tuple(py::cast(machine.fleet.hosts));
}

// Adds counts since this timer last fired; departed VMs have none.
void add_counters(const ObservedRun& run, const Observation& seen, py::dict& all) {
  const std::size_t vms = seen.vms();
  const auto by_vm = [&](const char* name, auto count) {
    all[name] = filled({vms}, [&](std::size_t v) {
      return seen.departed[v] ? 0 : std::invoke(count, seen.since[v]);
    });
  };
  for (const auto& [name, member] :
       std::array{MCSIM_FIELDS(VmCounters, accesses, misses, writes, dirty)}) {
    by_vm(name, member);
  }
  by_vm("reads", [](const VmCounters& vm) { return vm.accesses - vm.writes; });
  by_vm("requests", &request_count);
  all["latency_ns"] = filled({vms}, [&](std::size_t v) {
    return seen.departed[v] ? 0 : mean_ns(seen.since[v], run.machine, run.vm_names[v]);
  });
  const auto by_tier = [&](const char* name, auto count) {
    all[name] = filled({run.machine.tiers.size(), vms}, [&](std::size_t i) {
      const std::size_t v = i % vms;
      return seen.departed[v] ? 0 : count(seen.since[v], i / vms);
    });
  };
  for (const auto& [name, member] :
       std::array{MCSIM_FIELDS(TierCounters, hits, write_hits, occupancy)}) {
    by_tier(name,
            [member = member](const VmCounters& vm, std::size_t k) { return vm.tiers[k].*member; });
  }
  by_tier("tier_latency_ns",
          [&](const VmCounters& vm, std::size_t k) { return tier_mean_ns(vm, run.machine, k); });
}

// Adds values that VMs still have after their departure.
void add_state(const ObservedRun& run, const Observation& seen, py::dict& all) {
  const std::size_t vms = seen.vms();
  all["current"] = filled({run.machine.tiers.size(), vms},
                          [&](std::size_t i) { return seen.current.at(i / vms, i % vms); });
  all["departed"] = filled({vms}, [&](std::size_t v) { return bool{seen.departed[v]}; });
  all["arrived"] = filled({vms}, [&](std::size_t v) { return bool{seen.arrived[v]}; });
  all["host"] = column_of(seen.counters, &VmCounters::host);
  all["on_the_way"] = column_of(seen.counters, &VmCounters::on_the_way);
}

}  // namespace

py::object observation_of(const ObservedRun& run, const Observation& seen, PlacedExtents* placed) {
  py::dict all("timer"_a = run.timers[seen.timer].name, "interval"_a = seen.interval,
               "now"_a = seen.now, "vms"_a = py::tuple(py::cast(run.vm_names)),
               "block_bytes"_a = run.block_bytes,
               "extents"_a = placed != nullptr ? placed->shown(seen) : py::none());
  add_readings(run, seen, all);
  add_machine(run, all);
  add_counters(run, seen, all);
  add_state(run, seen, all);
  return py::module_::import("types").attr("SimpleNamespace")(**all);
}

}  // namespace mcsim::python
