#pragma once

#include "bindings/src/pybind.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim::python {

// Options of a view of a trace, which Python passes as keyword arguments named as the fields.
struct ViewOptions : ExpandOptions {
  static constexpr auto fields() {
    return std::apply(
        [](const auto&... field) { return std::tuple{Field{field.first, field.second, ""}...}; },
        std::tuple{MCSIM_FIELDS(ExpandOptions, block_bytes, ops, key, whole_seconds, line_blocks,
                                cut_bytes, sample_rate, sample_seed, responses, classes, bytes,
                                addresses)});
  }
};

inline ExpandOptions view_from(const py::kwargs& given) {
  return value_or_raise(parse_params<ViewOptions>(given.cast<ParamMap>()));
}

// Return the options of a view. They name files of interned traces: fields added later are omitted
// at their defaults, so that existing names do not change.
inline ParamMap params_of_view(const ExpandOptions& view) {
  ParamMap params = param_map(ViewOptions{view});
  const ParamMap defaults = param_map(ViewOptions{});
  for (const char* added :
       {"cut_bytes", "sample_rate", "sample_seed", "responses", "classes", "bytes", "addresses"}) {
    if (params.at(added) == defaults.at(added)) params.erase(added);
  }
  return params;
}

}  // namespace mcsim::python
