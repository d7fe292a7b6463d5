#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "bindings/src/python_policy.hpp"
#include "core/base/files.hpp"
#include "core/base/pages.hpp"
#include "core/containers/block_table.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/registry/libraries.hpp"
#include "policies/registry/plugin.hpp"
#include "policies/registry/weighing.hpp"
#include "policies/replay/miniature.hpp"
#include "policies/replay/simulate.hpp"
#include "policies/wrappers/all.hpp"

namespace mcsim::python {
namespace {

using Policy = std::variant<std::string, std::shared_ptr<PythonPolicy>>;
using Config = std::tuple<Policy, ParamMap, Count>;  // policy, parameters, capacity

CacheConfig config_of(const Config& given, std::uint64_t seed,
                      const std::shared_ptr<PythonFailure>& failure) {
  const auto& [policy, params, capacity] = given;
  if (const auto* name = std::get_if<std::string>(&policy)) return {*name, params, capacity, seed};
  const auto& python = std::get<std::shared_ptr<PythonPolicy>>(policy);
  return {python->name, params, capacity, seed, [python, failure](const PolicySetup& setup) {
            return make_python_cache(python, setup, failure);
          }};
}

std::vector<CacheConfig> configs_of(const std::vector<Config>& given, std::uint64_t seed,
                                    const std::shared_ptr<PythonFailure>& failure) {
  std::vector<CacheConfig> configs;
  for (const Config& config : given) configs.push_back(config_of(config, seed, failure));
  return configs;
}

template <class... Ts>
std::vector<std::string> names_of(TypeList<Ts...>) {
  return {Ts::kInfo.name...};
}

using Described = std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>>;

py::list describe_weighing() {
  Described policies;
  for (const auto& entry : weighing_registry().entries()) {
    policies.emplace_back(entry.info, entry.params);
  }
  return describe_entry_list(policies);
}

// Return mcsim's own policies, without those written in Python.
py::list describe_policies() {
  Described policies;
  for (const auto& entry : eviction_policies()) {
    if (std::string_view(entry.info.name).find(':') != std::string_view::npos) continue;
    policies.emplace_back(entry.info, entry.params);
  }
  return describe_entry_list(policies);
}

py::list describe_libraries() {
  Described policies;
  for (const auto& entry : library_policies()) policies.emplace_back(entry.info, entry.params);
  py::list described = describe_entry_list(policies);
  for (py::handle entry : described) {
    const Library& library = *library_named(entry["name"].cast<std::string>());
    entry["version"] = library.version;
    entry["policy"] = library.policy;
    entry["difference"] = library.difference;
  }
  return described;
}

// Return the keys, numbered by first appearance, and the number of distinct keys.
std::pair<py::array_t<BlockId>, std::size_t> number(const ConstantColumn<std::uint64_t>& keys) {
  const std::span<const std::uint64_t> all = span_of(keys);
  if (all.size() >= kNoBlock) {
    raise_if_error(out_of_range("{} accesses: at most {}", all.size(), kNoBlock - 1));
  }
  std::vector<BlockId> numbers(all.size());
  BlockTable table;
  constexpr std::size_t kPiece = std::size_t{1} << 22;  // signals are handled between pieces
  const Tick tick = make_tick(py::none());
  for (std::size_t begin = 0; begin < all.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, all.size() - begin);
    without_gil([&] {
      table.number(all.subspan(begin, count), numbers_of(std::span(numbers).subspan(begin, count)));
    });
    raise_if_error(tick(static_cast<Count>(begin)));
  }
  return {to_array(std::move(numbers)), table.size()};
}

// Return the sum of squares of the references to each block, and the number of blocks with
// references.
std::pair<double, Count> spread_of(const ConstantColumn<BlockId>& blocks, std::size_t unique) {
  const std::span<const BlockId> all = span_of(blocks);
  py::gil_scoped_release release;
  raise_if_error(check_blocks(all, unique));
  Pages<std::uint32_t> references(unique);
  for_each_part(all, [&](std::span<const BlockId> part) {
    for (const BlockId block : part) ++references[block];
  });
  double squares = 0;
  Count touched = 0;
  for (const std::uint32_t count : references) {
    squares += static_cast<double>(count) * static_cast<double>(count);
    touched += count > 0 ? 1 : 0;
  }
  return {squares, touched};
}

py::dict columns_of(const std::vector<SimulatedCache>& caches) {
  py::dict columns;
  for (const auto& [name, member] : std::array{MCSIM_FIELDS(
           CacheCounts, accesses, hits, writes, write_hits, evictions, partial_misses)}) {
    columns[name] = read_only(
        column_of(caches, [member = member](const SimulatedCache& c) { return c.counts.*member; }));
  }
  for (const auto& [name, member] : std::array{std::pair{"requests", &RequestHits::requests},
                                               std::pair{"request_hits", &RequestHits::hits},
                                               std::pair{"request_bytes", &RequestHits::bytes},
                                               std::pair{"byte_hits", &RequestHits::byte_hits}}) {
    columns[name] = read_only(column_of(
        caches, [member = member](const SimulatedCache& c) { return c.requests.*member; }));
  }
  columns["bytes"] = read_only(
      column_of(caches, [](const SimulatedCache& c) { return static_cast<Count>(c.bytes); }));
  columns["seconds"] = read_only(column_of(caches, &SimulatedCache::seconds));
  return columns;
}

// `ops` is None if all accesses are reads.
std::span<const std::uint8_t> operations_of(const std::optional<ConstantColumn<std::uint8_t>>& ops,
                                            std::size_t accesses) {
  if (!ops) return {};
  const std::span<const std::uint8_t> operations = span_of(*ops);
  if (operations.size() != accesses) {
    raise_if_error(
        invalid_argument("ops: {} of them for {} accesses", operations.size(), accesses));
  }
  const auto wrong = std::ranges::find_if(operations, [](std::uint8_t op) { return op > 1; });
  if (wrong != operations.end()) {
    raise_if_error(invalid_argument("ops[{}]: expected 0 (read) or 1 (write), got {}",
                                    wrong - operations.begin(), *wrong));
  }
  return operations;
}

// The accesses before which blocks are discarded, and these blocks.
using Discards = std::pair<Column<std::uint64_t>, Column<BlockId>>;
// First access, bytes and offset in the first block of each request, and the block size.
using GivenRequests = std::tuple<ConstantColumn<std::uint64_t>, ConstantColumn<std::uint32_t>,
                                 ConstantColumn<std::uint32_t>, std::uint32_t>;

std::vector<DiscardedBlock> discards_from(const std::optional<Discards>& given) {
  std::vector<DiscardedBlock> discards;
  if (!given) return discards;
  const auto accesses = span_of(given->first);
  const auto blocks = span_of(given->second);
  if (accesses.size() != blocks.size()) {
    raise_if_error(
        invalid_argument("discards: {} accesses and {} blocks", accesses.size(), blocks.size()));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) discards.push_back({accesses[i], blocks[i]});
  return discards;
}

RequestColumns requests_from(const std::optional<GivenRequests>& given) {
  if (!given) return {};
  const auto& [begin, bytes, head, block_bytes] = *given;
  return {span_of(begin), span_of(bytes), span_of(head), block_bytes};
}

std::span<const std::uint32_t> weights_from(
    const std::optional<ConstantColumn<std::uint32_t>>& given) {
  if (!given) return {};
  return span_of(*given);
}

std::span<const Nanoseconds> times_from(const std::optional<ConstantColumn<Nanoseconds>>& given) {
  if (!given) return {};
  return span_of(*given);
}

// Return whether a cache of each policy reads the time of accesses.
bool read_times(const std::vector<Config>& given) {
  for (const CacheConfig& config : configs_of(given, 1, std::make_shared<PythonFailure>())) {
    if (config.make || !eviction_registry().find(config.policy).ok()) continue;
    const PolicySetup smallest{.capacity = 1, .blocks = 1};
    if (value_or_raise(eviction_registry().make(config.policy, config.params, smallest))
            ->needs_times()) {
      return true;
    }
  }
  return false;
}

py::dict simulate_caches(const ConstantColumn<BlockId>& blocks, std::size_t unique,
                         const std::vector<Config>& configs,
                         const std::optional<ConstantColumn<std::uint8_t>>& ops, std::uint64_t seed,
                         int threads, std::size_t memory, bool one_pass, py::object progress,
                         std::uint32_t line_blocks, std::size_t warm_up,
                         const std::optional<Discards>& discards,
                         const std::optional<GivenRequests>& requests,
                         const std::optional<ConstantColumn<std::uint32_t>>& weights,
                         const std::optional<ConstantColumn<Nanoseconds>>& times) {
  const auto failure = std::make_shared<PythonFailure>();
  const std::vector<CacheConfig> wanted = configs_of(configs, seed, failure);
  const std::span<const BlockId> all = span_of(blocks);
  const std::span<const std::uint8_t> operations = operations_of(ops, all.size());
  const std::vector<DiscardedBlock> discarded = discards_from(discards);
  const SimulateOptions options{.threads = threads,
                                .tick = make_tick(std::move(progress), failure),
                                .memory = memory,
                                .one_pass = one_pass,
                                .line_blocks = line_blocks,
                                .warm_up = warm_up,
                                .discards = discarded,
                                .times = times_from(times),
                                .weights = weights_from(weights),
                                .requests = requests_from(requests)};
  absl::StatusOr<std::vector<SimulatedCache>> caches =
      without_gil([&] { return simulate(all, operations, unique, wanted, options); });
  failure->rethrow_if_any();
  return columns_of(value_or_raise(std::move(caches)));
}

py::array_t<Count> bytes_needed(const ConstantColumn<BlockId>& blocks, std::size_t unique,
                                const std::vector<Config>& configs, std::size_t memory,
                                bool one_pass, std::uint32_t line_blocks,
                                const std::optional<ConstantColumn<std::uint32_t>>& weights) {
  const std::vector<CacheConfig> wanted = configs_of(configs, 1, std::make_shared<PythonFailure>());
  const SimulateOptions options{.memory = memory,
                                .one_pass = one_pass,
                                .line_blocks = line_blocks,
                                .weights = weights_from(weights)};
  const std::span<const BlockId> all = span_of(blocks);
  const std::vector<std::size_t> bytes =
      value_or_raise(without_gil([&] { return memory_needed(all, unique, wanted, options); }));
  return to_array(std::vector<Count>(bytes.begin(), bytes.end()));
}

double rate_of_miniature(Count capacity, double rate, Count min_blocks, std::size_t seeds) {
  const std::vector<std::uint64_t> any(seeds);
  return miniature_rate(capacity, {.rate = rate, .min_blocks = min_blocks, .seeds = any});
}

// Return a row for each seed, with an entry for each cache.
py::dict simulate_miniatures(const ConstantColumn<BlockId>& blocks, std::size_t unique,
                             const std::vector<Config>& configs, double rate, Count min_blocks,
                             const std::vector<std::uint64_t>& sample_seeds,
                             const std::optional<ConstantColumn<std::uint8_t>>& ops,
                             std::uint64_t seed, int threads, std::size_t memory,
                             py::object progress, const std::optional<Discards>& discards,
                             const std::optional<ConstantColumn<std::uint32_t>>& weights,
                             const std::optional<ConstantColumn<Nanoseconds>>& times) {
  const auto failure = std::make_shared<PythonFailure>();
  const std::vector<CacheConfig> wanted = configs_of(configs, seed, failure);
  const std::span<const BlockId> all = span_of(blocks);
  const std::span<const std::uint8_t> operations = operations_of(ops, all.size());
  const std::vector<DiscardedBlock> discarded = discards_from(discards);
  const MiniatureOptions options{.rate = rate,
                                 .min_blocks = min_blocks,
                                 .seeds = sample_seeds,
                                 .simulate = {.threads = threads,
                                              .tick = make_tick(std::move(progress), failure),
                                              .memory = memory,
                                              .discards = discarded,
                                              .times = times_from(times),
                                              .weights = weights_from(weights)}};
  absl::StatusOr<std::vector<Miniature>> simulated =
      without_gil([&] { return miniatures(all, operations, unique, wanted, options); });
  failure->rethrow_if_any();
  const std::vector<Miniature> found = value_or_raise(std::move(simulated));
  std::vector<SimulatedCache> caches;
  for (const Miniature& miniature : found) caches.push_back(miniature.cache);
  py::dict columns = columns_of(caches);
  columns["rate"] = read_only(column_of(found, &Miniature::rate));
  columns["capacity"] = read_only(column_of(found, &Miniature::capacity));
  return columns;
}

}  // namespace

void bind_policies(py::module_& parent) {
  py::module_ m = parent.def_submodule("policies", "Caches under eviction policies.");
  py::class_<PythonPolicy, std::shared_ptr<PythonPolicy>>(
      m, "PythonPolicy", "A policy written in Python." MCSIM_CONSTANT)
      .def(py::init([](std::string name, bool is_function, py::object factory) {
             return PythonPolicy{std::move(name), is_function, std::move(factory)};
           }),
           py::arg("name"), py::arg("is_function"), py::arg("factory"));
  m.def("put", &register_python_policy, py::arg("name"), py::arg("policy"));
  m.def("describe", &describe_policies);
  m.def("describe_weighing", &describe_weighing);
  m.def("describe_libraries", &describe_libraries);
  m.def("wrappers", [] { return names_of(AllPolicyWrappers{}); });
  m.def(
      "load", [](const std::string& path) { return value_or_raise(load_policies(path)); },
      py::arg("path"));
  m.def("number", &number, py::arg("keys").noconvert());
  m.def("spread", &spread_of, py::arg("blocks").noconvert(), py::arg("unique"));
  m.def("simulate", &simulate_caches, py::arg("blocks").noconvert(), py::arg("unique"),
        py::arg("configs"), py::arg("ops") = py::none(), py::arg("seed") = CacheConfig{}.seed,
        py::arg("threads") = SimulateOptions{}.threads,
        py::arg("memory") = SimulateOptions{}.memory,
        py::arg("one_pass") = SimulateOptions{}.one_pass, py::arg("progress") = py::none(),
        py::arg("line_blocks") = SimulateOptions{}.line_blocks,
        py::arg("warm_up") = SimulateOptions{}.warm_up, py::arg("discards") = py::none(),
        py::arg("requests") = py::none(), py::arg("weights") = py::none(),
        py::arg("times") = py::none());
  m.def("read_times", &read_times, py::arg("configs"));
  m.def("memory_needed", &bytes_needed, py::arg("blocks").noconvert(), py::arg("unique"),
        py::arg("configs"), py::arg("memory") = SimulateOptions{}.memory,
        py::arg("one_pass") = SimulateOptions{}.one_pass,
        py::arg("line_blocks") = SimulateOptions{}.line_blocks, py::arg("weights") = py::none());
  m.def("miniature_rate", &rate_of_miniature, py::arg("capacity"), py::arg("rate"),
        py::arg("min_blocks"), py::arg("seeds"));
  m.def("miniatures", &simulate_miniatures, py::arg("blocks").noconvert(), py::arg("unique"),
        py::arg("configs"), py::arg("rate"), py::arg("min_blocks"), py::arg("sample_seeds"),
        py::arg("ops") = py::none(), py::arg("seed") = CacheConfig{}.seed,
        py::arg("threads") = SimulateOptions{}.threads,
        py::arg("memory") = SimulateOptions{}.memory, py::arg("progress") = py::none(),
        py::arg("discards") = py::none(), py::arg("weights") = py::none(),
        py::arg("times") = py::none());
}

}  // namespace mcsim::python
