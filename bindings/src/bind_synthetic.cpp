#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/trace/synthetic/synthetic.hpp"

namespace mcsim::python {
namespace {

std::vector<RequestSize> sizes_of(const std::vector<std::pair<std::uint32_t, double>>& pairs) {
  std::vector<RequestSize> sizes;
  for (const auto& [bytes, weight] : pairs) sizes.push_back({bytes, weight});
  return sizes;
}

using Shares = std::vector<std::pair<std::string, double>>;

std::vector<ComponentShare> shares_of(const Shares& pairs) {
  std::vector<ComponentShare> shares;
  for (const auto& [component, weight] : pairs) shares.push_back({component, weight});
  return shares;
}

void bind_models(py::module_& m) {
  py::class_<StackModel>(m, "StackModel",
                         "Locality by a curve of hit ratios over cache sizes." MCSIM_CONSTANT)
      .def(py::init([](const std::vector<std::pair<Count, double>>& curve, bool log) {
             StackModel model{.interpolation = log ? Interpolation::kLog : Interpolation::kLinear};
             for (const auto& [blocks, hit_ratio] : curve)
               model.curve.push_back({blocks, hit_ratio});
             return model;
           }),
           py::kw_only(), py::arg("curve"), py::arg("log"));
  py::class_<ZipfModel>(m, "ZipfModel", "Blocks of decreasing popularity." MCSIM_CONSTANT)
      .def(py::init([](Count blocks, double alpha) { return ZipfModel{blocks, alpha}; }),
           py::kw_only(), py::arg("blocks"), py::arg("alpha"));
  py::class_<LoopModel>(m, "LoopModel",
                        "Blocks one after the other, again and again." MCSIM_CONSTANT)
      .def(py::init([](Count blocks) { return LoopModel{blocks}; }), py::kw_only(),
           py::arg("blocks"));
  py::class_<ScanModel>(m, "ScanModel", "New blocks one after the other." MCSIM_CONSTANT)
      .def(py::init<>());
}

void bind_parts(py::module_& m) {
  py::class_<SyntheticComponent>(m, "Component",
                                 "A part of a VM with its own blocks." MCSIM_CONSTANT)
      .def(py::init([](std::string name, LocalityModel model,
                       const std::vector<std::pair<std::uint32_t, double>>& sizes,
                       std::optional<std::uint8_t> of_class) {
             return SyntheticComponent{std::move(name), std::move(model), sizes_of(sizes),
                                       of_class};
           }),
           py::kw_only(), py::arg("name"), py::arg("model"), py::arg("sizes"),
           py::arg("of_class") = py::none())
      .def("validate", [](const SyntheticComponent& c) { raise_if_error(validate(c)); })
      .def("bytes_needed", &bytes_needed, py::arg("block_bytes"));
  py::class_<Diurnal>(m, "Diurnal", "A rate that changes with the time of day." MCSIM_CONSTANT)
      .def(py::init([](double amplitude, Nanoseconds peak) { return Diurnal{amplitude, peak}; }),
           py::kw_only(), py::arg("amplitude"), py::arg("peak"));
  py::class_<Bursts>(m, "Bursts", "Periods with more requests." MCSIM_CONSTANT)
      .def(py::init([](Nanoseconds period, Nanoseconds length, double share, const Shares& reads,
                       const Shares& writes) {
             return Bursts{period, length, share, shares_of(reads), shares_of(writes)};
           }),
           py::kw_only(), py::arg("period"), py::arg("length"), py::arg("share"), py::arg("reads"),
           py::arg("writes"));
  py::class_<SyntheticClient>(m, "Client",
                              "A cache of the client, and its response times." MCSIM_CONSTANT)
      .def(py::init([](Count cache_blocks, Nanoseconds hit, Nanoseconds miss, Nanoseconds write) {
             return SyntheticClient{cache_blocks, hit, miss, write};
           }),
           py::kw_only(), py::arg("cache_blocks"), py::arg("hit"), py::arg("miss"),
           py::arg("write"))
      .def("validate", [](const SyntheticClient& client) { raise_if_error(validate(client)); });
}

void bind_vms(py::module_& m) {
  py::class_<SyntheticPhase>(m, "Phase", "A period of a VM with its own rate." MCSIM_CONSTANT)
      .def(py::init([](Nanoseconds start, Nanoseconds duration, Count requests,
                       std::optional<Nanoseconds> think, double read_share, const Shares& reads,
                       const Shares& writes, std::optional<Diurnal> diurnal,
                       std::optional<Bursts> bursts) {
             return SyntheticPhase{.start = start,
                                   .duration = duration,
                                   .requests = requests,
                                   .think = think,
                                   .read_share = read_share,
                                   .reads = shares_of(reads),
                                   .writes = shares_of(writes),
                                   .diurnal = diurnal,
                                   .bursts = std::move(bursts)};
           }),
           py::kw_only(), py::arg("start"), py::arg("duration"), py::arg("requests"),
           py::arg("think") = py::none(), py::arg("read_share"), py::arg("reads"),
           py::arg("writes"), py::arg("diurnal") = py::none(), py::arg("bursts") = py::none())
      .def(
          "validate",
          [](const SyntheticPhase& phase, const std::vector<std::string>& components,
             const std::optional<SyntheticClient>& client) {
            const std::vector<std::string_view> names(components.begin(), components.end());
            raise_if_error(validate(phase, names, client));
          },
          py::arg("components"), py::arg("client"));
  py::class_<SyntheticVm>(m, "Vm", "A VM with its components and phases." MCSIM_CONSTANT)
      .def(py::init([](std::string name, std::vector<SyntheticComponent> components,
                       std::vector<SyntheticPhase> phases, std::optional<SyntheticClient> client) {
             return SyntheticVm{std::move(name), std::move(components), std::move(phases), client};
           }),
           py::kw_only(), py::arg("name"), py::arg("components"), py::arg("phases"),
           py::arg("client") = py::none())
      .def("validate", [](const SyntheticVm& vm) { raise_if_error(validate(vm)); });
}

py::dict columns_of(Requests&& chunk) {
  py::dict columns;
  columns["time"] = to_array(std::move(chunk.time));
  columns["vm"] = to_array(std::move(chunk.vm));
  columns["op"] = to_array(std::move(chunk.op));
  columns["offset"] = to_array(std::move(chunk.offset));
  columns["length"] = to_array(std::move(chunk.length));
  columns["response"] = to_array(std::move(chunk.response));
  if (!chunk.of_class.empty()) columns["classes"] = to_array(std::move(chunk.of_class));
  return columns;
}

}  // namespace

void bind_synthetic(py::module_& m) {
  auto sub = m.def_submodule("synthetic", "Requests drawn from a declared profile.");
  bind_models(sub);
  bind_parts(sub);
  bind_vms(sub);
  sub.def(
      "validate",
      [](const std::vector<SyntheticVm>& vms) { raise_if_error(validate(std::span(vms))); },
      py::arg("vms"));
  py::class_<SyntheticTrace>(sub, "Generator", "Requests of a profile, in order." MCSIM_CALLS_WAIT)
      .def(
          py::init([](std::vector<SyntheticVm> vms, std::uint32_t block_bytes, std::uint64_t seed) {
            return value_or_raise(without_gil(
                [&] { return SyntheticTrace::make({block_bytes, seed, std::move(vms)}); }));
          }),
          py::kw_only(), py::arg("vms"), py::arg("block_bytes"), py::arg("seed"))
      .def_property_readonly("request_count", &SyntheticTrace::request_count)
      .def(
          "next",
          [](SyntheticTrace& trace, std::size_t limit) {
            const ExclusiveUse use(trace);
            Requests chunk;
            raise_if_error(without_gil([&] { return trace.next(limit, chunk); }));
            return columns_of(std::move(chunk));
          },
          py::arg("limit"));
}

}  // namespace mcsim::python
