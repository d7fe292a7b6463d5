#include "bindings/src/pybind.hpp"

namespace mcsim::python {
namespace {

const char* kind_name(ParamKind kind) {
  switch (kind) {
    case ParamKind::kBool:
      return "bool";
    case ParamKind::kInteger:
      return "integer";
    case ParamKind::kReal:
      return "real";
    case ParamKind::kDuration:
      return "duration";
    case ParamKind::kChoice:
      return "choice";
    case ParamKind::kText:
      return "text";
    case ParamKind::kPerVm:
      return "per-vm";
  }
  return "";
}

py::dict describe_param(const ParamInfo& info) {
  py::dict d;
  d["name"] = info.name;
  d["help"] = info.help;
  d["kind"] = kind_name(info.kind);
  d["default"] = info.default_value;
  d["min"] = info.min;
  d["max"] = info.max;
  d["choices"] = info.choices;
  return d;
}

}  // namespace

py::list describe_entry_list(
    const std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>>& entries) {
  py::list list;
  for (const auto& [info, params] : entries) {
    py::list described;
    for (const ParamInfo& param : params) described.append(describe_param(param));
    py::dict d;
    d["name"] = info.name;
    d["summary"] = info.summary;
    d["reference"] = info.reference;
    d["params"] = described;
    list.append(d);
  }
  return list;
}

}  // namespace mcsim::python
