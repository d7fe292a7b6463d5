#include <cstddef>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/locality/distances/hash_ranges.hpp"
#include "core/locality/distances/partial_curve.hpp"

namespace mcsim::python {
namespace {

py::tuple group_keys(const Column<std::uint64_t>& keys) {
  GroupedKeys grouped = without_gil([&] { return group_by_hash(span_of(keys)); });
  return py::make_tuple(to_array(std::move(grouped.range_of)), to_array(std::move(grouped.keys)),
                        to_array(std::move(grouped.count)));
}

void add_piece(RangeJoin& join, const Column<std::uint64_t>& first, std::uint32_t first_at,
               const Column<std::uint64_t>& last) {
  const ExclusiveUse use(join);
  raise_if_error(without_gil([&] { return join.add(span_of(first), first_at, span_of(last)); }));
}

py::tuple finish_join(RangeJoin& join) {
  const ExclusiveUse use(join);
  RangeJoin::Moves moves = join.finish();
  return py::make_tuple(to_array(std::move(moves.piece)), to_array(std::move(moves.access)));
}

py::tuple rank_stack(const Column<std::uint8_t>& range_of,
                     const ConstantColumn<std::uint16_t>& piece,
                     const Column<std::uint32_t>& access, std::size_t pieces) {
  RankedMoves ranked = value_or_raise(without_gil(
      [&] { return rank_moves(span_of(range_of), span_of(piece), span_of(access), pieces); }));
  return py::make_tuple(to_array(std::move(ranked.above)), to_array(std::move(ranked.access)),
                        to_array(std::move(ranked.count)));
}

PartialCurve resolve_piece(const PartialCurve& piece, const ConstantColumn<std::uint8_t>& range_of,
                           const ConstantColumn<std::uint32_t>& access,
                           const Column<Count>& above) {
  return value_or_raise(without_gil(
      [&] { return resolve(piece, {span_of(range_of), span_of(access), span_of(above)}); }));
}

}  // namespace

void bind_hash_ranges(py::module_& parent) {
  py::module_ m = parent.attr("locality");
  m.attr("HASH_RANGES") = kHashRanges;
  m.def("group_by_hash", &group_keys, py::arg("keys").noconvert());
  m.def(
      "ungroup",
      [](const ConstantColumn<std::uint8_t>& range_of, const Column<std::uint64_t>& keys) {
        return to_array(
            value_or_raise(without_gil([&] { return ungroup(span_of(range_of), span_of(keys)); })));
      },
      py::arg("range_of").noconvert(), py::arg("keys").noconvert());
  py::class_<RangeJoin>(m, "RangeJoin",
                        "The accesses that move blocks, in ranges of hashes." MCSIM_CALLS_WAIT)
      .def(py::init<std::size_t>(), py::arg("pieces"))
      .def("add", &add_piece, py::arg("first").noconvert(), py::arg("first_at"),
           py::arg("last").noconvert())
      .def("finish", &finish_join);
  m.def("rank_moves", &rank_stack, py::arg("range_of").noconvert(), py::arg("piece").noconvert(),
        py::arg("access").noconvert(), py::arg("pieces"));
  m.def("resolve_piece", &resolve_piece, py::arg("piece"), py::arg("range_of").noconvert(),
        py::arg("access").noconvert(), py::arg("above").noconvert());
}

}  // namespace mcsim::python
