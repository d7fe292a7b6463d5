#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/engine/run/lookup_system.hpp"
#include "core/engine/run/run.hpp"

namespace mcsim::python {
namespace {

using Counter = std::function<Count(const VmCounters&, std::size_t tier)>;

Counter counter_of(Count VmCounters::* member) {
  return [member](const VmCounters& vm, std::size_t) { return vm.*member; };
}
Counter counter_of(Count TierCounters::* member) {
  return [member](const VmCounters& vm, std::size_t tier) { return vm.tiers[tier].*member; };
}

// Return the counters of a run by name, as arrays [interval, vm] or, by tier, [interval, vm, tier].
py::dict counters_of(const RunResult& result, bool by_tier) {
  const std::size_t vms = result.intervals.empty() ? 0 : result.intervals[0].size();
  const std::size_t tiers = vms == 0 ? 0 : result.intervals[0][0].tiers.size();
  const std::size_t cells = by_tier ? tiers : 1;  // of a VM
  std::vector<std::size_t> shape{result.intervals.size(), vms};
  if (by_tier) shape.push_back(tiers);
  py::dict all;
  const auto add = [&](const char* name, const Counter& counter) {
    all[name] = filled(shape, [&](std::size_t i) {
      return counter(result.intervals[i / cells / vms][i / cells % vms], i % cells);
    });
  };
  const auto add_table = [&](const auto& table) {
    for (const auto& [name, member] : table) add(name, counter_of(member));
  };
  if (by_tier) {
    add_table(TierCounters::kTotals);
    add_table(TierCounters::kLevels);
  } else {
    add_table(VmCounters::kTotals);
    add_table(VmCounters::kLevels);
  }
  // Counters of the backend follow those of the tiers.
  const auto add_served = [&](const char* name, Op op, auto what) {
    add(name, [=](const VmCounters& vm, std::size_t tier) {
      return (vm.served(op).*what)[by_tier ? tier : tiers];
    });
  };
  add_served("reads_served", Op::kRead, &Served::blocks);
  add_served("writes_served", Op::kWrite, &Served::blocks);
  add_served("read_requests", Op::kRead, &Served::requests);
  add_served("write_requests", Op::kWrite, &Served::requests);
  return all;
}

// Return the write mode of each VM, or its modes by tier, divided by slashes.
std::vector<std::string> mode_names(const Decision& decision) {
  std::vector<std::string> words;
  for (const WriteMode mode : decision.write_modes) words.emplace_back(name_of(mode));
  for (const std::vector<WriteMode>& tier : decision.write_modes_by_tier) {
    if (words.empty()) {
      words.resize(tier.size());
    } else {
      for (std::string& of_vm : words) of_vm += " / ";
    }
    for (std::size_t vm = 0; vm < tier.size(); ++vm) words[vm] += name_of(tier[vm]);
  }
  return words;
}

py::list migrations_of(const Decision& decision) {
  py::list migrations;
  for (const Migration& of : decision.migrations) {
    migrations.append(
        py::make_tuple(of.vm, of.host, of.keep, of.blocks_per_second, name_of(of.on_demand)));
  }
  return migrations;
}

py::dict to_dict(const DecisionRecord& record) {
  const Decision& decision = record.decision;
  const Allocation& targets = record.targets;
  const std::vector<Placement>& placements = decision.placements;
  return py::dict("request"_a = record.request,
                  "targets"_a = filled({targets.tiers(), targets.vms()},
                                       [&](std::size_t i) {
                                         return targets.tier(i / targets.vms())[i % targets.vms()];
                                       }),
                  "objective"_a = decision.objective, "upper_bound"_a = decision.upper_bound,
                  "evaluations"_a = decision.evaluations, "timer"_a = record.timer,
                  "times"_a = record.times, "infeasible"_a = decision.infeasible,
                  "note"_a = decision.note, "throughputs"_a = decision.throughputs,
                  "moved"_a = record.moved, "write_modes"_a = mode_names(decision),
                  "migrations"_a = migrations_of(decision), "admits"_a = decision.admits,
                  // One row for each extent that moves: its number and its new tier.
                  "placements"_a = filled({placements.size(), 2}, [&](std::size_t i) {
                    const Placement& placed = placements[i / 2];
                    return static_cast<Count>(i % 2 == 0 ? placed.extent : placed.tier);
                  }));
}

py::list decisions_of(const RunResult& result) {
  py::list decisions;
  for (const DecisionRecord& record : result.decisions) decisions.append(to_dict(record));
  return decisions;
}

// Take the accesses of a log as columns: requests, blocks and operations. The progress callback of
// a run may take those so far.
py::tuple columns_of(BackendLog& log) {
  const ExclusiveUse use(log, ExclusiveUse::Reentry::kAllowed);
  const std::vector<BackendAccess> accesses = log.take();
  return py::make_tuple(
      column_of(accesses, &BackendAccess::request), column_of(accesses, &BackendAccess::block),
      column_of(accesses,
                [](const BackendAccess& access) { return static_cast<std::uint8_t>(access.op); }));
}

}  // namespace

void bind_run(py::module_& parent) {
  py::module_ m = parent.def_submodule("engine");
  def_fields(
      py::class_<RunResult>(m, "RunResult", "The counters and decisions of a run." MCSIM_CONSTANT),
      std::tuple{MCSIM_FIELDS(RunResult, replay_seconds, decide_seconds)})
      .def_property_readonly("tiers", [](const RunResult& r) { return counters_of(r, true); })
      .def_property_readonly("vms", [](const RunResult& r) { return counters_of(r, false); })
      .def_property_readonly("lengths",
                             [](const RunResult& r) {
                               return filled({r.lengths.size()},
                                             [&](std::size_t i) { return r.lengths[i]; });
                             })
      .def_property_readonly("decisions", &decisions_of);
  py::class_<BackendLog>(m, "BackendLog", "The accesses of a run to the backend." MCSIM_CALLS_WAIT)
      .def(py::init<>())
      .def("take", &columns_of);
  m.def(
      "run",
      [](const Accesses& trace, System& system, const Characterised& measured,
         const Column<Count>& cuts, py::object progress, BackendLog* log, std::string state_from,
         std::string state_to, std::string state_setup) {
        const ExclusiveUse use(system);
        std::optional<ExclusiveUse> use_of_log;
        if (log != nullptr) use_of_log.emplace(*log);
        const std::span<const Count> given = span_of(cuts);
        const Cuts metric_cuts(given.begin(), given.end());
        const Tick tick = make_tick(std::move(progress));
        const StateFiles files{.from = std::move(state_from),
                               .to = std::move(state_to),
                               .setup = std::move(state_setup)};
        RunResult result = value_or_raise(without_gil(
            [&] { return run(trace, system, measured, metric_cuts, tick, log, files); }));
        const auto* const lookups = dynamic_cast<const LookupSystem*>(&system);
        if (lookups != nullptr) lookups->remove_touches(result);
        return result;
      },
      py::arg("accesses"), py::arg("system"), py::arg("measured"), py::arg("cuts"),
      py::arg("progress") = py::none(), py::arg("log") = py::none(), py::kw_only(),
      py::arg("state_from") = "", py::arg("state_to") = "", py::arg("state_setup") = "");
}

}  // namespace mcsim::python
