#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/locality/estimators/partial_sample.hpp"

namespace mcsim::python {
namespace {

// Calls visit(name, column) for every array of a sample, except that of the groups.
template <class Sample, class Visit>
void for_each_column(Sample& sample, Visit&& visit) {
  visit("distance", sample.blocks.resolved.distance);
  visit("count", sample.blocks.resolved.count);
  visit("first", sample.blocks.first);
  visit("last", sample.blocks.last);
  visit("priorities", sample.kept.priorities);
  visit("kept", sample.kept.blocks);
}

// Return the arrays as views of the sample; those of the groups are copied.
py::dict columns_of(const py::object& self) {
  py::dict columns;
  const auto& sample = self.cast<const PartialSample&>();
  for_each_column(sample, [&](const char* name, const auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const auto size = static_cast<py::ssize_t>(column.size());
    columns[name] = read_only(py::array_t<T>(size, column.data(), self));
  });
  const std::vector<std::uint64_t> groups = sample.groups.counts();
  columns["groups"] =
      read_only(py::array_t<std::uint64_t>(static_cast<py::ssize_t>(groups.size()), groups.data()));
  return columns;
}

py::dict numbers_of(const PartialSample& sample) {
  return py::dict("cold"_a = sample.blocks.resolved.cold, "references"_a = sample.references,
                  "rate"_a = sample.params.rate, "correction"_a = name_of(sample.params.correction),
                  "seed"_a = sample.seed, "limit"_a = sample.kept.limit, "starts"_a = sample.starts,
                  "ends"_a = sample.ends);
}

PartialSample from_columns(const py::dict& columns, const py::dict& numbers) {
  PartialSample sample;
  for_each_column(sample, [&](const char* name, auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const auto array = columns[name].cast<Column<T>>();
    column.assign(span_of(array).begin(), span_of(array).end());
  });
  const auto groups = columns["groups"].cast<Column<std::uint64_t>>();
  if (span_of(groups).size() != SampleGroups::kCounts) {
    raise_if_error(data_loss("partial sample: {} groups", span_of(groups).size()));
  }
  sample.groups = SampleGroups::of_counts(span_of(groups));
  sample.blocks.resolved.cold = numbers["cold"].cast<Count>();
  sample.references = numbers["references"].cast<Count>();
  sample.params.rate = numbers["rate"].cast<double>();
  sample.params.correction =
      choice_or_raise<Correction>("correction", numbers["correction"].cast<std::string>());
  sample.seed = numbers["seed"].cast<std::uint64_t>();
  sample.kept.limit = numbers["limit"].cast<std::uint64_t>();
  sample.starts = numbers["starts"].cast<bool>();
  sample.ends = numbers["ends"].cast<bool>();
  raise_if_error(sample.check());
  return sample;
}

PartialSample sample_piece(const ConstantColumn<std::uint32_t>& blocks,
                           const ConstantColumn<std::uint64_t>& key_of,
                           const ConstantColumn<Nanoseconds>& times, const ParamMap& params,
                           std::uint64_t seed, bool starts, bool ends) {
  const auto parsed = value_or_raise(parse_params<ShardsRate::Params>(params));
  return value_or_raise(without_gil([&]() -> absl::StatusOr<PartialSample> {
    MCSIM_ASSIGN_OR_RETURN(PartialSample sample, analyse_sample(span_of(blocks), span_of(key_of),
                                                                span_of(times), parsed, seed));
    if (starts) sample.start();
    if (ends) sample.end();
    return sample;
  }));
}

}  // namespace

void bind_partial_samples(py::module_& parent) {
  py::module_ m = parent.attr("locality");
  py::class_<PartialSample>(m, "PartialSample",
                            "The sample of a piece, by fixed-rate SHARDS." MCSIM_CONSTANT)
      .def_property_readonly("accesses", [](const PartialSample& of) { return of.references; })
      .def_property_readonly("distinct", &PartialSample::distinct)
      .def_property_readonly("columns", &columns_of)
      .def_property_readonly("numbers", &numbers_of)
      .def_static("from_columns", &from_columns, py::arg("columns"), py::arg("numbers"))
      .def("curve", &PartialSample::curve, py::call_guard<py::gil_scoped_release>());
  m.def("sample_piece", &sample_piece, py::arg("blocks").noconvert(), py::arg("key_of").noconvert(),
        py::arg("times").noconvert(), py::arg("params"), py::arg("seed"), py::kw_only(),
        py::arg("starts") = false, py::arg("ends") = false);
  m.def(
      "merge_samples",
      [](const PartialSample& left, const PartialSample& right) {
        return value_or_raise(without_gil([&] { return merge(left, right); }));
      },
      py::arg("left"), py::arg("right"));
}

}  // namespace mcsim::python
