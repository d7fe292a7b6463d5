#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/locality/distances/partial_curve.hpp"

namespace mcsim::python {
namespace {

using Mode = PartialCurve::Requests;

// Calls visit(name, column) for every array of a curve.
template <class Curve, class Visit>
void for_each_column(Curve& curve, Visit&& visit) {
  visit("distance", curve.blocks.resolved.distance);
  visit("count", curve.blocks.resolved.count);
  visit("first", curve.blocks.first);
  visit("last", curve.blocks.last);
  visit("request_distance", curve.requests.requests.distance);
  visit("request_count", curve.requests.requests.count);
  visit("byte_distance", curve.requests.bytes.distance);
  visit("byte_count", curve.requests.bytes.count);
  visit("first_bytes", curve.requests.first_bytes);
  visit("pending_firsts", curve.requests.pending_firsts);
  visit("pending_distance", curve.requests.pending_distance);
  visit("kinds", curve.events.kinds);
  visit("holes", curve.events.holes);
  visit("gone", curve.events.gone);
}

// The type of the elements in arrays.
template <class T>
using Element = std::conditional_t<std::is_same_v<T, PieceEvent>, std::uint8_t, T>;

// Return the arrays as views of the curve.
py::dict columns_of(const py::object& self) {
  py::dict columns;
  for_each_column(self.cast<const PartialCurve&>(), [&](const char* name, const auto& column) {
    using T = Element<typename std::decay_t<decltype(column)>::value_type>;
    const auto* data = reinterpret_cast<const T*>(column.data());
    columns[name] = read_only(py::array_t<T>(static_cast<py::ssize_t>(column.size()), data, self));
  });
  return columns;
}

py::dict numbers_of(const PartialCurve& curve) {
  return py::dict("cold"_a = curve.blocks.resolved.cold, "mode"_a = static_cast<int>(curve.mode),
                  "request_bytes"_a = curve.request_bytes,
                  "all_requests"_a = curve.requests.all_requests,
                  "all_bytes"_a = curve.requests.all_bytes, "starts"_a = curve.starts,
                  "ends"_a = curve.ends, "cold_again"_a = curve.events.cold_again);
}

PartialCurve from_columns(const py::dict& columns, const py::dict& numbers) {
  PartialCurve curve;
  for_each_column(curve, [&](const char* name, auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const auto array = columns[name].cast<Column<Element<T>>>();
    const auto values = span_of(array);
    if constexpr (std::is_same_v<T, Element<T>>) {
      column.assign(values.begin(), values.end());
    } else {
      column.resize(values.size());
      std::ranges::transform(values, column.begin(),
                             [](Element<T> value) { return static_cast<T>(value); });
    }
  });
  curve.blocks.resolved.cold = numbers["cold"].cast<Count>();
  curve.mode = static_cast<Mode>(numbers["mode"].cast<int>());
  curve.request_bytes = numbers["request_bytes"].cast<std::uint32_t>();
  curve.requests.all_requests = numbers["all_requests"].cast<Count>();
  curve.requests.all_bytes = numbers["all_bytes"].cast<Count>();
  curve.starts = numbers["starts"].cast<bool>();
  curve.ends = numbers["ends"].cast<bool>();
  curve.events.cold_again = numbers["cold_again"].cast<Count>();
  raise_if_error(curve.check());
  return curve;
}

using Shapes =
    std::tuple<std::uint32_t, Column<std::uint32_t>, Column<std::uint32_t>, Column<std::uint32_t>>;

// Positions among the accesses; first keys, and keys after the last ones.
using Discards = std::tuple<ConstantColumn<std::uint64_t>, ConstantColumn<std::uint64_t>,
                            ConstantColumn<std::uint64_t>>;

PartialCurve analyse_piece(const ConstantColumn<std::uint32_t>& blocks,
                           const ConstantColumn<std::uint64_t>& key_of,
                           std::optional<std::uint32_t> request_bytes,
                           const std::optional<Shapes>& requests,
                           const std::optional<Discards>& discards, bool starts, bool ends) {
  NumberedPiece piece{.blocks = span_of(blocks), .key_of = span_of(key_of)};
  if (discards) {
    piece.discards = {span_of(std::get<0>(*discards)), span_of(std::get<1>(*discards)),
                      span_of(std::get<2>(*discards))};
  }
  if (requests) {
    piece.mode = Mode::kCounted;
    piece.requests = {std::get<0>(*requests), span_of(std::get<1>(*requests)),
                      span_of(std::get<2>(*requests)), span_of(std::get<3>(*requests))};
  } else if (request_bytes) {
    piece.mode = Mode::kEqual;
    piece.request_bytes = *request_bytes;
  }
  return value_or_raise(without_gil([&]() -> absl::StatusOr<PartialCurve> {
    MCSIM_ASSIGN_OR_RETURN(PartialCurve curve, analyse(piece));
    if (starts) curve.start();
    if (ends) curve.end();
    return curve;
  }));
}

}  // namespace

void bind_partial_curves(py::module_& parent) {
  py::module_ m = parent.attr("locality");
  py::class_<PartialCurve>(m, "PartialCurve", "The exact curve of a piece." MCSIM_CONSTANT)
      .def_property_readonly("accesses", &PartialCurve::accesses)
      .def_property_readonly("distinct", &PartialCurve::distinct)
      .def_property_readonly("columns", &columns_of)
      .def_property_readonly("numbers", &numbers_of)
      .def_static("from_columns", &from_columns, py::arg("columns"), py::arg("numbers"))
      .def("curve", &PartialCurve::curve, py::call_guard<py::gil_scoped_release>())
      .def(
          "__eq__", [](const PartialCurve& a, const PartialCurve& b) { return a == b; },
          py::is_operator());
  m.def("analyse_piece", &analyse_piece, py::arg("blocks").noconvert(),
        py::arg("key_of").noconvert(), py::kw_only(), py::arg("request_bytes") = py::none(),
        py::arg("requests") = py::none(), py::arg("discards") = py::none(),
        py::arg("starts") = false, py::arg("ends") = false);
  m.def(
      "merge_curves",
      [](const PartialCurve& left, const PartialCurve& right) {
        return value_or_raise(without_gil([&] { return merge(left, right); }));
      },
      py::arg("left"), py::arg("right"));
}

}  // namespace mcsim::python
