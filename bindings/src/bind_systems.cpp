#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/python_system.hpp"
#include "bindings/src/view_options.hpp"
#include "core/engine/run/lookup_system.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/registry.hpp"
#include "policies/hosts/admission_registry.hpp"
#include "policies/prefetch/registry.hpp"

namespace mcsim::python {
namespace {

Fleet make_fleet(std::vector<std::string> hosts, std::map<std::string, std::size_t> host_of_vm,
                 double latency_ns, double blocks_per_second) {
  for (const auto& [vm, host] : host_of_vm) {
    if (host >= hosts.size()) {
      throw Error{out_of_range("{}: host {} of {}", vm, host, hosts.size())};
    }
  }
  return Fleet{.hosts = std::move(hosts),
               .host_of_vm = std::move(host_of_vm),
               .link = {.latency_ns = latency_ns, .blocks_per_second = blocks_per_second}};
}

Machine make_machine(const std::vector<std::pair<Device, Count>>& tiers, const Device& backend,
                     std::map<std::string, double> vm_backend_ns, Fleet fleet, bool in_bytes,
                     const std::vector<bool>& delayed_hits) {
  Machine machine{.tiers = {},
                  .backend = backend,
                  .vm_backend_ns = std::move(vm_backend_ns),
                  .fleet = std::move(fleet),
                  .in_bytes = in_bytes};
  if (!delayed_hits.empty() && delayed_hits.size() != tiers.size()) {
    throw Error{invalid_argument("delayed_hits: {} entries for {} tiers", delayed_hits.size(),
                                 tiers.size())};
  }
  for (const auto& [device, blocks] : tiers) {
    if (blocks < 0) {
      throw Error{out_of_range("{}: expected at least 0 blocks, got {}", device.name, blocks)};
    }
    const std::size_t tier = machine.tiers.size();
    machine.tiers.push_back({.device = device,
                             .capacity_blocks = blocks,
                             .delayed_hits = !delayed_hits.empty() && delayed_hits[tier]});
  }
  return machine;
}

std::shared_ptr<CacheDump> make_cache_dump(std::string file, std::string policy, Count block_bytes,
                                           Count cache_blocks, bool has_hints, Count text_line,
                                           const Column<std::uint32_t>& cache_block,
                                           const Column<std::uint64_t>& origin_block,
                                           const Column<std::uint8_t>& is_dirty,
                                           const Column<std::uint32_t>& hint,
                                           const Column<Count>& text_lines) {
  auto dump = std::make_shared<CacheDump>(CacheDump{.file = std::move(file),
                                                    .policy = std::move(policy),
                                                    .block_bytes = block_bytes,
                                                    .cache_blocks = cache_blocks,
                                                    .has_hints = has_hints,
                                                    .text_line = text_line,
                                                    .mappings = {}});
  const auto size = cache_block.size();
  if (origin_block.size() != size || is_dirty.size() != size || hint.size() != size ||
      text_lines.size() != size) {
    throw Error{invalid_argument("cache_dump: columns of different lengths")};
  }
  for (py::ssize_t i = 0; i < size; ++i) {
    if (i > 0 && cache_block.at(i) <= cache_block.at(i - 1)) {
      throw Error{invalid_argument("cache_dump: cache blocks must increase")};
    }
    dump->mappings.push_back({.cache_block = cache_block.at(i),
                              .origin_block = origin_block.at(i),
                              .is_dirty = is_dirty.at(i) != 0,
                              .hint = hint.at(i),
                              .text_line = text_lines.at(i)});
  }
  return dump;
}

void bind_machine(py::module_& m) {
  def_fields(
      py::class_<Device>(m, "Device", "A device of a tier, or the backend." MCSIM_CONSTANT),
      std::tuple{MCSIM_FIELDS(Device, name, read_ns, write_ns, dollars_per_gb, iops, bandwidth)})
      .def(py::init<std::string, double, double, double, double, double>(), py::arg("name"),
           py::arg("read_ns"), py::arg("write_ns"), py::arg("dollars_per_gb"), py::arg("iops") = 0,
           py::arg("bandwidth") = 0)
      .def("busy_ns", &Device::busy_ns, py::arg("bytes"));
  py::class_<Fleet>(m, "Fleet", "The hosts of VMs and the link between them." MCSIM_CONSTANT)
      .def(py::init(&make_fleet), py::arg("hosts") = std::vector<std::string>{},
           py::arg("host_of_vm") = std::map<std::string, std::size_t>{}, py::kw_only(),
           py::arg("latency_ns") = 0.0, py::arg("blocks_per_second") = 0.0);
  py::class_<Machine>(m, "Machine", "The tiers and the backend of a host." MCSIM_CONSTANT)
      .def(py::init(&make_machine), py::arg("tiers"), py::arg("backend"),
           py::arg("vm_backend_ns") = std::map<std::string, double>{}, py::arg("fleet") = Fleet{},
           py::arg("in_bytes") = false, py::kw_only(),
           py::arg("delayed_hits") = std::vector<bool>{});
}

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

// Check that a system has a rule for capacities in bytes, apart from its parameters.
void check_counts_bytes(const std::string& name, const ParamMap& params, SystemContext context) {
  context.machine.in_bytes = false;
  const auto system = system_registry().make(name, params, std::move(context));
  if (!system.ok() || (*system)->counts_bytes()) return;
  throw Error{invalid_argument(
      "{}: no rule for capacities in bytes; hierarchy, lru, single-tier and static have one",
      name)};
}

std::shared_ptr<System> make_system(const std::string& name, const ParamMap& params,
                                    const Machine& machine, std::shared_ptr<Optimizer> optimizer,
                                    Nanoseconds interval, std::uint64_t seed,
                                    std::vector<std::string> vms, Nanoseconds warm_up,
                                    bool counts_lookups) {
  const SystemContext context{.machine = machine,
                              .interval = interval,
                              .warm_up = warm_up,
                              .seed = seed,
                              .vms = std::move(vms)};
  if (machine.in_bytes) check_counts_bytes(name, params, context);
  std::shared_ptr<System> system = value_or_raise(system_registry().make(name, params, context));
  if (machine.fleet.several() && !system->divides_hosts()) {
    throw Error{invalid_argument("{}: this system divides one host, and there are {}", name,
                                 machine.fleet.count())};
  }
  give_optimizer(*system, name, std::move(optimizer), seed);
  if (counts_lookups) system = std::make_shared<LookupSystem>(std::move(system));
  raise_if_error(check_delayed_hits(name, *system, machine));
  raise_if_error(check_actions(*system));
  return system;
}

// Returns each timer's name, its period, and whether it also fires in traces shorter than the
// period.
std::vector<std::tuple<std::string, Nanoseconds, bool>> timers_of(const System& system) {
  std::vector<std::tuple<std::string, Nanoseconds, bool>> timers;
  for (const Timer& of : system.timers()) {
    timers.emplace_back(of.name, of.clock.period, of.at_start || of.clock.drifting);
  }
  return timers;
}

bool chooses_write_modes(const System& system) { return system.actions().has(Action::kWriteModes); }

void bind_cache_dump(py::module_& m) {
  py::class_<CacheDump, std::shared_ptr<CacheDump>>(
      m, "CacheDump", "The mappings of a deployed cache, from its metadata." MCSIM_CONSTANT)
      .def(py::init(&make_cache_dump), py::kw_only(), py::arg("file"), py::arg("policy"),
           py::arg("block_bytes"), py::arg("cache_blocks"), py::arg("has_hints"),
           py::arg("text_line"), py::arg("cache_block"), py::arg("origin_block"),
           py::arg("is_dirty"), py::arg("hint"), py::arg("text_lines"));
}

void bind_system(py::module_& m) {
  m.def("describe_systems", [] { return describe_registry(system_registry()); });
  m.def("describe_admission", [] { return describe_registry(admission_registry()); });
  m.def("describe_prefetchers", [] { return describe_registry(prefetch_registry()); });
  def_fields(py::class_<System, std::shared_ptr<System>>(
                 m, "System",
                 "A system that divides caches. Any thread may call it; a run waits until other "
                 "runs of the same system have ended."),
             std::tuple{MCSIM_FIELDS(System, needs_classes, default_optimizer)})
      .def(py::init(&make_system), py::arg("name"), py::arg("params"), py::arg("machine"),
           py::arg("optimizer") = nullptr, py::kw_only(), py::arg("interval") = 3600 * kSecond,
           py::arg("seed") = 1, py::arg("vms") = std::vector<std::string>{},
           py::arg("warm_up") = Nanoseconds{0}, py::arg("counts_lookups") = false)
      .def_static(
          "from_python",
          [](py::object allocator, const Machine& machine, Nanoseconds interval, std::uint64_t seed,
             std::vector<std::string> vms) {
            return make_python_system(
                std::move(allocator),
                {.machine = machine, .interval = interval, .seed = seed, .vms = std::move(vms)});
          },
          py::arg("allocator"), py::arg("machine"), py::kw_only(),
          py::arg("interval") = 3600 * kSecond, py::arg("seed") = 1,
          py::arg("vms") = std::vector<std::string>{})
      .def("view",
           [](const System& system, const py::kwargs& given) {
             return params_of_view(view_of(system, view_from(given)));
           })
      .def("use_cache_dump",
           [](System& system, std::shared_ptr<CacheDump> dump) {
             const ExclusiveUse use(system);
             raise_if_error(system.use_cache_dump(std::move(dump)));
           })
      .def_property_readonly("timers", &timers_of)
      .def_property_readonly("meters", &meter_specs)
      .def_property_readonly("chooses_write_modes", &chooses_write_modes);
}

}  // namespace

void bind_systems(py::module_& parent) {
  py::module_ m = parent.def_submodule("engine");
  bind_machine(m);
  bind_cache_dump(m);
  bind_system(m);
}

}  // namespace mcsim::python
