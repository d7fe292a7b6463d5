#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/pybind.hpp"
#include "core/containers/block_table.hpp"
#include "policies/eviction/registry.hpp"
#include "policies/eviction/simulate.hpp"

namespace mcsim::python {
namespace {

using Config = std::tuple<std::string, ParamMap, Count>;  // policy, parameters, capacity

// The keys, numbered as they first appear, and how many there are.
std::pair<py::array_t<BlockId>, std::size_t> number(const Column<std::uint64_t>& keys) {
  const std::span<const std::uint64_t> all = span_of(keys);
  std::vector<BlockId> numbers(all.size());
  std::size_t unique = 0;
  {
    py::gil_scoped_release release;
    if (all.size() >= kNoBlock) {
      raise_if_error(out_of_range("{} accesses: at most {}", all.size(), kNoBlock - 1));
    }
    BlockTable table;
    table.number(all, numbers);
    unique = table.size();
  }
  return {to_array(std::move(numbers)), unique};
}

template <class Get>
auto column_of(const std::vector<SimulatedCache>& caches, Get&& get) {
  std::vector<decltype(get(caches[0]))> column;
  column.reserve(caches.size());
  for (const SimulatedCache& cache : caches) column.push_back(get(cache));
  return to_array(std::move(column));
}

py::dict columns_of(const std::vector<SimulatedCache>& caches) {
  const auto counted = [&](Count CacheCounts::* member) {
    return column_of(caches, [=](const SimulatedCache& cache) { return cache.counts.*member; });
  };
  py::dict columns;
  columns["accesses"] = counted(&CacheCounts::accesses);
  columns["hits"] = counted(&CacheCounts::hits);
  columns["writes"] = counted(&CacheCounts::writes);
  columns["write_hits"] = counted(&CacheCounts::write_hits);
  columns["evictions"] = counted(&CacheCounts::evictions);
  columns["bytes"] =
      column_of(caches, [](const SimulatedCache& c) { return static_cast<Count>(c.bytes); });
  columns["seconds"] = column_of(caches, [](const SimulatedCache& c) { return c.seconds; });
  return columns;
}

py::dict simulate_caches(const Column<BlockId>& blocks, std::size_t unique,
                         const std::vector<Config>& configs,
                         const std::optional<Column<std::uint8_t>>& ops, std::uint64_t seed,
                         int threads, py::object progress) {
  std::vector<CacheConfig> wanted;
  for (const auto& [policy, params, capacity] : configs) {
    wanted.push_back({policy, params, capacity, seed});
  }
  const std::span<const BlockId> all = span_of(blocks);
  std::span<const std::uint8_t> operations;
  if (ops) operations = span_of(*ops);
  if (ops && operations.size() != all.size()) {
    raise_if_error(
        invalid_argument("ops: {} of them for {} accesses", operations.size(), all.size()));
  }
  const SimulateOptions options{.threads = threads, .tick = make_tick(std::move(progress))};
  std::vector<SimulatedCache> caches;
  {
    py::gil_scoped_release release;
    caches = value_or_raise(simulate(all, operations, unique, wanted, options));
  }
  return columns_of(caches);
}

}  // namespace

void bind_policies(py::module_& parent) {
  py::module_ m = parent.def_submodule("policies", "Caches under eviction policies.");
  m.def("describe", [] { return describe_registry(eviction_registry()); });
  m.def("number", &number, py::arg("keys").noconvert());
  m.def("simulate", &simulate_caches, py::arg("blocks").noconvert(), py::arg("unique"),
        py::arg("configs"), py::arg("ops") = py::none(), py::arg("seed") = CacheConfig{}.seed,
        py::arg("threads") = SimulateOptions{}.threads, py::arg("progress") = py::none());
}

}  // namespace mcsim::python
