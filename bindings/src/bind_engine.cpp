#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/pybind.hpp"
#include "bindings/src/python_system.hpp"
#include "core/engine/run/run.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_file.hpp"
#include "core/trace/interning/accesses_layout.hpp"
#include "core/trace/intervals.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"
#include "policies/hosts/admission_registry.hpp"

namespace mcsim::python {
namespace {

ExpandOptions expand_options(std::uint32_t block_bytes, const std::string& ops,
                             const std::string& key, bool whole_seconds, std::uint32_t line_blocks,
                             bool responses, bool classes, bool bytes) {
  return {.block_bytes = block_bytes,
          .ops = choice_or_raise<OpFilter>("ops", ops),
          .key = choice_or_raise<BlockKey>("key", key),
          .whole_seconds = whole_seconds,
          .line_blocks = line_blocks,
          .responses = responses,
          .classes = classes,
          .bytes = bytes};
}

py::dict to_dict(const GivenCounts& given) {
  py::dict d;
  d["requests"] = given.requests;
  d["accesses"] = given.accesses;
  return d;
}

std::vector<std::pair<std::size_t, VmId>> departures_of(const Accesses& accesses) {
  std::vector<std::pair<std::size_t, VmId>> departures;
  for (const auto& [request, vm] : accesses.departures) departures.emplace_back(request, vm);
  return departures;
}

void pass(const Accesses& accesses, std::size_t begin, std::size_t end) {
  if (begin > end || end > accesses.request_count()) {
    throw Error{out_of_range("requests {} to {} of {}", begin, end, accesses.request_count())};
  }
  accesses.passed({begin, end});
}

void bind_accesses(py::module_& m) {
  py::class_<VmInfo>(m, "VmInfo")
      .def_readonly("name", &VmInfo::name)
      .def_readonly("first_id", &VmInfo::first_id)
      .def_readonly("unique_blocks", &VmInfo::unique_blocks)
      .def_readonly("requests", &VmInfo::requests)
      .def_readonly("accesses", &VmInfo::accesses);

  py::class_<Accesses>(m, "Accesses")
      .def_readonly("vms", &Accesses::vms)
      .def_readonly("block_bytes", &Accesses::block_bytes)
      .def_readonly("line_blocks", &Accesses::line_blocks)
      .def_readonly("warm_up", &Accesses::warm_up)
      .def_property_readonly("departures", &departures_of)
      .def_property_readonly("given", [](const Accesses& a) { return to_dict(a.given); })
      .def_property_readonly("time_base", [](const Accesses& a) { return name_of(a.time_base); })
      .def_property_readonly("ids", viewed(&Accesses::ids))
      .def_property_readonly("request_begin", viewed(&Accesses::request_begin))
      .def_property_readonly("request_time", viewed(&Accesses::request_time))
      .def_property_readonly("request_vm", viewed(&Accesses::request_vm))
      .def_property_readonly("request_op", viewed(&Accesses::request_op))
      .def_property_readonly("request_response", viewed(&Accesses::request_response))
      .def_property_readonly("request_class", viewed(&Accesses::request_class))
      .def_property_readonly("request_bytes", viewed(&Accesses::request_bytes))
      .def_property_readonly("access_count", &Accesses::access_count)
      .def_property_readonly("request_count", &Accesses::request_count)
      .def_property_readonly("id_count", &Accesses::id_count)
      .def("passed", &pass, py::arg("begin"), py::arg("end"));
}

py::array_t<Count> cuts_of(const Accesses& trace, Nanoseconds length) {
  const auto counted = std::span(trace.request_time).subspan(trace.warm_up);
  raise_if_error(check_intervals(counted, trace.time_base, "interval", length));
  Cuts cuts = aligned_cuts(counted, length);
  for (std::size_t& cut : cuts) cut += trace.warm_up;
  return to_array(std::vector<Count>(cuts.begin(), cuts.end()));
}

void bind_files_and_cuts(py::module_& m) {
  m.def(
      "write_accesses",
      [](const Accesses& accesses, const std::string& path) {
        raise_if_error(without_gil([&] { return write_accesses(accesses, path); }));
      },
      py::arg("accesses"), py::arg("path"));
  m.def(
      "open_accesses",
      [](const std::string& path, bool checked) {
        return value_or_raise(without_gil(
            [&] { return checked ? open_checked_accesses(path) : open_accesses(path); }));
      },
      py::arg("path"), py::kw_only(), py::arg("checked") = false);
  m.attr("ACCESSES_VERSION") = kAccessesVersion;
  m.def("aligned_cuts", &cuts_of, py::arg("accesses"), py::arg("length"));
}

void add(AccessBuilder& builder, const Column<Nanoseconds>& time, const Column<VmId>& vm,
         const Column<std::uint8_t>& op, const Column<std::uint64_t>& offset,
         const Column<std::uint32_t>& length, const std::optional<Column<Nanoseconds>>& response,
         const std::optional<Column<std::uint8_t>>& of_class, std::optional<VmId> only,
         Nanoseconds shift) {
  const RequestsView chunk = requests_of(time, vm, op, offset, length, response, of_class);
  const Tick tick = make_tick(py::none());
  raise_if_error(without_gil([&] { return builder.add(chunk, only, shift, tick); }));
}

void bind_access_builder_steps(py::class_<AccessBuilder>& bound) {
  bound
      .def(
          "begin_vm",
          [](AccessBuilder& builder, std::string name) {
            raise_if_error(builder.begin_vm(std::move(name)));
          },
          py::arg("name"))
      .def("add", &add, py::arg("time"), py::arg("vm"), py::arg("op"), py::arg("offset"),
           py::arg("length"), py::arg("response") = py::none(), py::arg("classes") = py::none(),
           py::kw_only(), py::arg("only") = py::none(), py::arg("shift") = 0)
      .def("end_warm_up", &AccessBuilder::end_warm_up)
      .def(
          "arrive",
          [](AccessBuilder& builder, Nanoseconds time) { raise_if_error(builder.arrive(time)); },
          py::arg("time"))
      .def(
          "depart",
          [](AccessBuilder& builder, Nanoseconds time) { raise_if_error(builder.depart(time)); },
          py::arg("time"))
      .def("finish", [](AccessBuilder& builder) {
        py::gil_scoped_release release;
        return value_or_raise(std::move(builder).finish());
      });
}

void bind_access_builder(py::module_& m) {
  py::class_<AccessBuilder> bound(m, "AccessBuilder");
  bound.def(py::init([](std::uint32_t block_bytes, const std::string& ops, const std::string& key,
                        bool whole_seconds, std::uint32_t line_blocks, bool responses, bool classes,
                        bool bytes, std::uint32_t cut_bytes, double sample_rate,
                        std::uint64_t sample_seed, const std::string& base,
                        const std::optional<std::string>& path) {
              ExpandOptions options = expand_options(block_bytes, ops, key, whole_seconds,
                                                     line_blocks, responses, classes, bytes);
              options.cut_bytes = cut_bytes;
              options.sample_rate = sample_rate;
              options.sample_seed = sample_seed;
              std::optional<AccessBuilder::ToFile> to_file;
              if (path) to_file = {.path = *path};
              return AccessBuilder(options, choice_or_raise<TimeBase>("time_base", base),
                                   std::move(to_file));
            }),
            py::kw_only(), py::arg("block_bytes") = 4096, py::arg("ops") = "reads",
            py::arg("key") = "aligned", py::arg("whole_seconds") = false,
            py::arg("line_blocks") = 1, py::arg("responses") = false, py::arg("classes") = false,
            py::arg("bytes") = false, py::arg("cut_bytes") = 0, py::arg("sample_rate") = 1.0,
            py::arg("sample_seed") = 1, py::arg("time_base") = "clock",
            py::arg("path") = py::none());
  bind_access_builder_steps(bound);
}

void bind_machine(py::module_& m) {
  py::class_<Device>(m, "Device")
      .def(py::init<std::string, double, double, double, double, double>(), py::arg("name"),
           py::arg("read_ns"), py::arg("write_ns"), py::arg("dollars_per_gb"), py::arg("iops") = 0,
           py::arg("bandwidth") = 0)
      .def_readonly("name", &Device::name)
      .def_readonly("read_ns", &Device::read_ns)
      .def_readonly("write_ns", &Device::write_ns)
      .def_readonly("dollars_per_gb", &Device::dollars_per_gb)
      .def_readonly("iops", &Device::iops)
      .def_readonly("bandwidth", &Device::bandwidth)
      .def("busy_ns", &Device::busy_ns, py::arg("bytes"));
  py::class_<Fleet>(m, "Fleet")
      .def(
          py::init([](std::vector<std::string> hosts, std::map<std::string, std::size_t> host_of_vm,
                      double latency_ns, double blocks_per_second) {
            for (const auto& [vm, host] : host_of_vm) {
              if (host >= hosts.size()) {
                throw Error{out_of_range("{}: host {} of {}", vm, host, hosts.size())};
              }
            }
            return Fleet{
                .hosts = std::move(hosts),
                .host_of_vm = std::move(host_of_vm),
                .link = {.latency_ns = latency_ns, .blocks_per_second = blocks_per_second}};
          }),
          py::arg("hosts") = std::vector<std::string>{},
          py::arg("host_of_vm") = std::map<std::string, std::size_t>{}, py::kw_only(),
          py::arg("latency_ns") = 0.0, py::arg("blocks_per_second") = 0.0);
  py::class_<Machine>(m, "Machine")
      .def(py::init([](const std::vector<std::pair<Device, Count>>& tiers, const Device& backend,
                       std::map<std::string, double> vm_backend_ns, Fleet fleet) {
             Machine machine{.tiers = {},
                             .backend = backend,
                             .vm_backend_ns = std::move(vm_backend_ns),
                             .fleet = std::move(fleet)};
             for (const auto& [device, blocks] : tiers) machine.tiers.push_back({device, blocks});
             return machine;
           }),
           py::arg("tiers"), py::arg("backend"),
           py::arg("vm_backend_ns") = std::map<std::string, double>{}, py::arg("fleet") = Fleet{});
}

// A system and what it was made with; the optimizer outlives the run.
struct SystemHandle {
  std::shared_ptr<System> system;
};

void give_optimizer(System& system, const std::string& name, std::shared_ptr<Optimizer> optimizer,
                    std::uint64_t seed) {
  const std::optional<std::string> preferred = system.default_optimizer();
  if (!preferred) {
    if (optimizer) throw Error{invalid_argument("{}: this system uses no optimizer", name)};
    return;
  }
  if (!optimizer) {
    optimizer = value_or_raise(optimizer_registry().make(*preferred, {}, {.seed = seed}));
  }
  raise_if_error(system.use_optimizer(std::move(optimizer)));
}

py::dict to_dict(const ExpandOptions& options) {
  py::dict d;
  d["block_bytes"] = options.block_bytes;
  d["ops"] = name_of(options.ops);
  d["key"] = name_of(options.key);
  d["whole_seconds"] = options.whole_seconds;
  d["line_blocks"] = options.line_blocks;
  // Said where it is so: interned traces without them keep their names.
  if (options.responses) d["responses"] = true;
  if (options.classes) d["classes"] = true;
  if (options.bytes) d["bytes"] = true;
  return d;
}

SystemHandle make_system(const std::string& name, const ParamMap& params, const Machine& machine,
                         std::shared_ptr<Optimizer> optimizer, Nanoseconds interval,
                         std::uint64_t seed, std::vector<std::string> vms) {
  SystemHandle handle{value_or_raise(system_registry().make(
      name, params,
      {.machine = machine, .interval = interval, .seed = seed, .vms = std::move(vms)}))};
  if (machine.fleet.several() && !handle.system->knows_hosts()) {
    throw Error{invalid_argument("{}: this system divides one host, and there are {}", name,
                                 machine.fleet.count())};
  }
  give_optimizer(*handle.system, name, std::move(optimizer), seed);
  raise_if_error(check_actions(*handle.system));
  return handle;
}

// The last of each: whether it rings however short the trace is.
std::vector<std::tuple<std::string, Nanoseconds, bool>> timers_of(const SystemHandle& handle) {
  std::vector<std::tuple<std::string, Nanoseconds, bool>> timers;
  for (const Timer& of : handle.system->timers()) {
    timers.emplace_back(of.name, of.clock.period, of.at_start || of.clock.drifting);
  }
  return timers;
}

void bind_system(py::module_& m) {
  m.def("describe_systems", [] { return describe_registry(system_registry()); });
  m.def("describe_admission", [] { return describe_registry(admission_registry()); });
  py::class_<SystemHandle>(m, "System")
      .def(py::init(&make_system), py::arg("name"), py::arg("params"), py::arg("machine"),
           py::arg("optimizer") = nullptr, py::kw_only(), py::arg("interval") = 3600 * kSecond,
           py::arg("seed") = 1, py::arg("vms") = std::vector<std::string>{})
      .def_static(
          "from_python",
          [](py::object allocator, const Machine& machine, Nanoseconds interval, std::uint64_t seed,
             std::vector<std::string> vms) {
            return SystemHandle{make_python_system(
                std::move(allocator),
                {.machine = machine, .interval = interval, .seed = seed, .vms = std::move(vms)})};
          },
          py::arg("allocator"), py::arg("machine"), py::kw_only(),
          py::arg("interval") = 3600 * kSecond, py::arg("seed") = 1,
          py::arg("vms") = std::vector<std::string>{})
      .def(
          "view",
          [](const SystemHandle& handle, std::uint32_t block_bytes, const std::string& ops,
             const std::string& key, bool whole_seconds, std::uint32_t line_blocks, bool responses,
             bool classes, bool bytes) {
            return to_dict(
                view_of(*handle.system, expand_options(block_bytes, ops, key, whole_seconds,
                                                       line_blocks, responses, classes, bytes)));
          },
          py::kw_only(), py::arg("block_bytes") = 4096, py::arg("ops") = "reads",
          py::arg("key") = "aligned", py::arg("whole_seconds") = false, py::arg("line_blocks") = 1,
          py::arg("responses") = false, py::arg("classes") = false, py::arg("bytes") = false)
      .def_property_readonly("needs_classes",
                             [](const SystemHandle& h) { return h.system->needs_classes(); })
      .def_property_readonly("default_optimizer",
                             [](const SystemHandle& h) { return h.system->default_optimizer(); })
      .def_property_readonly("timers", &timers_of)
      .def_property_readonly("meters",
                             [](const SystemHandle& h) { return meter_specs(*h.system); });
}

// One counter of a run as an array [interval, vm, tier].
template <class Get>
py::array_t<Count> tier_array(const RunResult& result, std::size_t vms, std::size_t tiers,
                              Get get) {
  py::array_t<Count> array({result.intervals.size(), vms, tiers});
  Count* out = array.mutable_data();
  for (const auto& interval : result.intervals) {
    for (const VmCounters& vm : interval) {
      for (std::size_t k = 0; k < tiers; ++k) *out++ = get(vm, k);
    }
  }
  return array;
}

template <class Get>
py::array_t<Count> vm_array(const RunResult& result, std::size_t vms, Get get) {
  py::array_t<Count> array({result.intervals.size(), vms});
  Count* out = array.mutable_data();
  for (const auto& interval : result.intervals) {
    for (const VmCounters& vm : interval) *out++ = get(vm);
  }
  return array;
}

// Blocks and requests that something served, by operation.
template <class Add>
void add_served(Add&& add) {
  add("reads_served", Op::kRead, &Served::blocks);
  add("writes_served", Op::kWrite, &Served::blocks);
  add("read_requests", Op::kRead, &Served::requests);
  add("write_requests", Op::kWrite, &Served::requests);
}

std::size_t vm_count(const RunResult& result) {
  return result.intervals.empty() ? 0 : result.intervals[0].size();
}
std::size_t tier_count(const RunResult& result) {
  return vm_count(result) == 0 ? 0 : result.intervals[0][0].tiers.size();
}

py::dict tier_arrays(const RunResult& result) {
  const std::size_t vms = vm_count(result);
  const std::size_t tiers = tier_count(result);
  py::dict d;
  const auto add = [&](const auto& counters) {
    for (const auto& [name, counter] : counters) {
      const auto member = counter;
      d[name] = tier_array(result, vms, tiers, [=](const VmCounters& vm, std::size_t k) {
        return vm.tiers[k].*member;
      });
    }
  };
  add(TierCounters::kTotals);
  add(TierCounters::kLevels);
  add_served([&](const char* name, Op op, auto what) {
    d[name] = tier_array(result, vms, tiers, [=](const VmCounters& vm, std::size_t k) {
      return (vm.served(op).*what)[k];
    });
  });
  return d;
}

py::dict vm_arrays(const RunResult& result) {
  const std::size_t vms = vm_count(result);
  const std::size_t backend = tier_count(result);
  py::dict d;
  const auto add = [&](const auto& counters) {
    for (const auto& [name, counter] : counters) {
      const auto member = counter;
      d[name] = vm_array(result, vms, [=](const VmCounters& vm) { return vm.*member; });
    }
  };
  add(VmCounters::kTotals);
  add(VmCounters::kLevels);
  add_served([&](const char* name, Op op, auto what) {
    d[name] =
        vm_array(result, vms, [=](const VmCounters& vm) { return (vm.served(op).*what)[backend]; });
  });
  return d;
}

// By VM; one a tier, divided by slashes, where they were decided by tier.
std::vector<std::string> modes_in_words(const Decision& decision) {
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

// A row a move: the extent, and the tier where it lives then.
py::array_t<Count> placement_rows(const std::vector<Placement>& placements) {
  py::array_t<Count> rows({placements.size(), std::size_t{2}});
  Count* out = rows.mutable_data();
  for (const auto& [extent, tier] : placements) {
    *out++ = static_cast<Count>(extent);
    *out++ = static_cast<Count>(tier);
  }
  return rows;
}

py::list decision_list(const RunResult& result) {
  py::list list;
  for (const DecisionRecord& record : result.decisions) {
    const Allocation& targets = record.targets;
    py::array_t<Count> array({targets.tiers(), targets.vms()});
    for (std::size_t k = 0; k < targets.tiers(); ++k) {
      std::ranges::copy(targets.tier(k), array.mutable_data() + k * targets.vms());
    }
    py::dict d;
    d["request"] = record.request;
    d["targets"] = array;
    d["objective"] = record.decision.objective;
    d["upper_bound"] = record.decision.upper_bound;
    d["evaluations"] = record.decision.evaluations;
    d["timer"] = record.timer;
    d["infeasible"] = record.decision.infeasible;
    d["note"] = record.decision.note;
    d["throughputs"] = record.decision.throughputs;
    d["moved"] = record.moved;
    d["write_modes"] = modes_in_words(record.decision);
    py::list migrations;
    for (const Migration& of : record.decision.migrations) {
      migrations.append(
          py::make_tuple(of.vm, of.host, of.keep, of.blocks_per_second, name_of(of.on_demand)));
    }
    d["migrations"] = migrations;
    d["admits"] = record.decision.admits;
    d["placements"] = placement_rows(record.decision.placements);
    list.append(d);
  }
  return list;
}

void bind_run(py::module_& m) {
  py::class_<RunResult>(m, "RunResult")
      .def_property_readonly("tiers", &tier_arrays)
      .def_property_readonly("vms", &vm_arrays)
      .def_property_readonly("decisions", &decision_list)
      .def_readonly("replay_seconds", &RunResult::replay_seconds)
      .def_readonly("decide_seconds", &RunResult::decide_seconds);
  m.def(
      "run",
      [](const Accesses& trace, const SystemHandle& handle, const Characterised& measured,
         const Column<Count>& cuts, py::object progress) {
        const std::span<const Count> given = span_of(cuts);
        const Cuts metric_cuts(given.begin(), given.end());
        const Tick tick = make_tick(std::move(progress));
        py::gil_scoped_release release;
        return value_or_raise(run(trace, *handle.system, measured, metric_cuts, tick));
      },
      py::arg("accesses"), py::arg("system"), py::arg("measured"), py::arg("cuts"),
      py::arg("progress") = py::none());
}

}  // namespace

void bind_engine(py::module_& parent) {
  py::module_ m = parent.def_submodule("engine");
  bind_accesses(m);
  bind_files_and_cuts(m);
  bind_access_builder(m);
  bind_machine(m);
  bind_system(m);
  bind_run(m);
}

}  // namespace mcsim::python
