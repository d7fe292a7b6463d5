#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/trace/reading/json_columns.hpp"
#include "policies/replay/chain_depths.hpp"
#include "policies/replay/chain_trie.hpp"
#include "policies/replay/chains.hpp"

namespace mcsim::python {
namespace {

// Index of the first block of each request, and the blocks.
using GivenChains = std::tuple<ConstantColumn<std::int64_t>, ConstantColumn<BlockId>, std::size_t>;
using GivenFinishes = std::pair<ConstantColumn<std::uint32_t>, ConstantColumn<std::uint32_t>>;

Chains chains_from(const GivenChains& given) {
  const auto& [starts, blocks, unique] = given;
  const Chains chains{.starts = span_of(starts), .blocks = span_of(blocks), .unique = unique};
  raise_if_error(check_chains(chains));
  return chains;
}

py::array_t<std::uint32_t> hits_of_blocks(const GivenChains& given, const std::string& policy,
                                          const ParamMap& params, Count capacity,
                                          std::uint64_t seed, bool head_first) {
  const Chains chains = chains_from(given);
  const CacheConfig config{policy, params, capacity, seed};
  return to_array(
      value_or_raise(without_gil([&] { return replay_blocks(chains, config, head_first); })));
}

py::array_t<std::uint32_t> hits_of_trie(const GivenChains& given, const std::string& rule,
                                        Count capacity,
                                        const std::optional<GivenFinishes>& finishes) {
  const Chains chains = chains_from(given);
  const auto chosen = choice_or_raise<LeafRule>("policy", rule);
  Finishes ends;
  if (finishes) {
    ends = {.order = span_of(finishes->first), .before = span_of(finishes->second)};
    raise_if_error(check_finishes(ends, chains.size()));
  }
  return to_array(without_gil([&] { return replay_trie(chains, chosen, capacity, ends); }));
}

// Tenant and division of each request, and the parts, a row for each division.
using GivenDivisions = std::tuple<ConstantColumn<std::uint32_t>, ConstantColumn<std::uint32_t>,
                                  ConstantColumn<Count>, std::size_t>;

py::array_t<std::uint32_t> hits_of_parts(const GivenChains& given,
                                         const GivenDivisions& given_divisions) {
  const Chains chains = chains_from(given);
  const auto& [tenant, division, parts, tenants] = given_divisions;
  const Divisions divisions{.tenant = span_of(tenant),
                            .division = span_of(division),
                            .parts = span_of(parts),
                            .tenants = tenants};
  raise_if_error(check_divisions(divisions, chains.size()));
  return to_array(without_gil([&] { return replay_parts(chains, divisions); }));
}

py::array_t<std::uint8_t> tiers_of_copies(const GivenChains& given,
                                          const std::vector<Count>& tiers) {
  const Chains chains = chains_from(given);
  if (tiers.size() > 255) raise_if_error(invalid_argument("tiers: at most 255"));
  return to_array(without_gil([&] { return replay_copies(chains, tiers); }));
}

// Return the depths of blocks, as of chain_depths.
py::array_t<std::uint32_t> depths_of(const GivenChains& given) {
  const Chains chains = chains_from(given);
  py::array_t<std::uint32_t> depths(static_cast<py::ssize_t>(chains.blocks.size()));
  const std::span<std::uint32_t> found(depths.mutable_data(), chains.blocks.size());
  raise_if_error(without_gil([&] { return chain_depths(chains, found); }));
  return read_only(std::move(depths));
}

// Return how often each value below `end` occurs, up to the greatest of them.
py::array_t<Count> counts_of(const ConstantColumn<std::uint32_t>& values, std::size_t end) {
  std::vector<Count> counts(end);
  const std::span<const std::uint32_t> all = span_of(values);
  without_gil([&] {
    for (const std::uint32_t value : all) {
      if (value < end) ++counts[value];
    }
    while (!counts.empty() && counts.back() == 0) counts.pop_back();
  });
  return to_array(std::move(counts));
}

// Name, kind, and whether the values are lists.
using GivenField = std::tuple<std::string, std::string, bool>;

// Return the columns of JSON lines, as of read_flat_columns, or None.
std::optional<py::list> columns_of_lines(const py::bytes& content,
                                         const std::vector<GivenField>& given) {
  std::vector<JsonField> fields;
  for (const auto& [name, kind, is_list] : given) {
    fields.push_back({name, choice_or_raise<JsonKind>("kind", kind), is_list});
  }
  const std::string_view text = content;
  auto columns = without_gil([&] { return read_flat_columns(text, fields); });
  if (!columns) return std::nullopt;
  py::list made;
  for (JsonColumn& column : *columns) {
    made.append(py::make_tuple(to_array(std::move(column.list_ends)),
                               to_array(std::move(column.numbers)),
                               to_array(std::move(column.text_ends)), py::bytes(column.text)));
  }
  return made;
}

}  // namespace

void bind_chains(py::module_& parent) {
  py::module_ m = parent.attr("policies");
  m.def("chain_depths", &depths_of, py::arg("chains"));
  m.def("count_values", &counts_of, py::arg("values").noconvert(), py::arg("end"));
  m.def(
      "chain_conflicts",
      [](const GivenChains& given) {
        const Chains chains = chains_from(given);
        return without_gil([&] { return count_conflicts(chains); });
      },
      py::arg("chains"));
  parent.attr("trace").attr("read_flat_columns") =
      py::cpp_function(&columns_of_lines, py::arg("content"), py::arg("fields"));
  m.attr("leaf_rules") = py::tuple(py::cast(choice_names<LeafRule>()));
  m.def("prefix_hits", &hits_of_blocks, py::arg("chains"), py::arg("policy"), py::arg("params"),
        py::arg("capacity"), py::arg("seed"), py::arg("head_first"));
  m.def("trie_prefix_hits", &hits_of_trie, py::arg("chains"), py::arg("rule"), py::arg("capacity"),
        py::arg("finishes") = py::none());
  m.def("divided_prefix_hits", &hits_of_parts, py::arg("chains"), py::arg("divisions"));
  m.def("tiers_of_copies", &tiers_of_copies, py::arg("chains"), py::arg("tiers"));
}

}  // namespace mcsim::python
