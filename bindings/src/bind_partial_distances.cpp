#include <string_view>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/distances/piece_distances.hpp"
#include "core/locality/estimator.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim::python {
namespace {

void check_limit(Count limit) {
  if (limit >= 0) return;
  raise_if_error(invalid_argument("limit: must be 0 (none) or positive, got {}", limit));
}

PartialDistances analyse_keys(const ConstantColumn<std::uint64_t>& keys, Count limit) {
  check_limit(limit);
  const std::span<const std::uint64_t> all = span_of(keys);
  py::gil_scoped_release release;
  return analyse(all, limit);
}

py::tuple distances_of_piece(const Accesses& accesses, std::size_t begin, std::size_t end,
                             Count limit) {
  check_limit(limit);
  const std::size_t count = accesses.access_count();
  if (begin > end || end > count) {
    raise_if_error(invalid_argument("no accesses {} to {} among {}", begin, end, count));
  }
  DistanceHistogram found = value_or_raise(without_gil([&] {
    return mcsim::distances_of_piece(accesses.ids, begin, end, accesses.id_count(), limit);
  }));
  return py::make_tuple(to_array(std::move(found.distance)), to_array(std::move(found.count)),
                        found.cold);
}

py::bytes to_bytes(const PartialDistances& partial) {
  return without_gil([&] { return partial.to_bytes(); });
}

PartialDistances from_bytes(const py::bytes& bytes) {
  const std::string_view view = bytes;  // a view of memory that `bytes` owns and never changes
  py::gil_scoped_release release;
  return value_or_raise(PartialDistances::from_bytes(view));
}

}  // namespace

void bind_partial_distances(py::module_& parent) {
  py::module_ m = parent.attr("locality");
  py::class_<PartialDistances>(m, "PartialDistances",
                               "The reuse distances of a piece." MCSIM_CONSTANT)
      .def_readonly("limit", &PartialDistances::limit)
      .def_property_readonly("accesses",
                             [](const PartialDistances& p) {
                               return p.resolved.accesses() + static_cast<Count>(p.first.size());
                             })
      .def_property_readonly("blocks", [](const PartialDistances& p) { return p.first.size(); })
      .def(
          "curve", [](const PartialDistances& p) { return exact_estimate(p.histogram()); },
          py::call_guard<py::gil_scoped_release>())
      .def("to_bytes", &to_bytes)
      .def_static("from_bytes", &from_bytes, py::arg("data"))
      .def(
          "__eq__", [](const PartialDistances& a, const PartialDistances& b) { return a == b; },
          py::is_operator());
  m.def("analyse", &analyse_keys, py::arg("keys").noconvert(), py::arg("limit") = 0);
  m.def("distances_of_piece", &distances_of_piece, py::arg("accesses"), py::arg("begin"),
        py::arg("end"), py::arg("limit") = 0);
  m.def(
      "merge",
      [](const PartialDistances& left, const PartialDistances& right) {
        py::gil_scoped_release release;
        return value_or_raise(merge(left, right));
      },
      py::arg("left"), py::arg("right"));
}

}  // namespace mcsim::python
