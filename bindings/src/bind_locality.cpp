#include <fmt/ranges.h>

#include <functional>
#include <string>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/meter_fields.hpp"
#include "bindings/src/pybind.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/locality/profile/meter_plan.hpp"
#include "core/locality/profile/meter_reader.hpp"
#include "core/locality/profile/profile_file.hpp"

namespace mcsim::python {
namespace {

py::dict spec_dict(const MeterSpec& spec) {
  py::dict d;
  d["meter"] = name_of(spec.what);
  d["interval"] = spec.clock.period;
  d["drifting"] = spec.clock.drifting;
  for (const auto& [name, value] : params_of(spec.what)) d[py::str(name)] = value;
  return d;
}

void bind_spec(py::module_& m) {
  py::class_<MeterSpec>(m, "MeterSpec", "A measurement of every VM, and its period." MCSIM_CONSTANT)
      .def(py::init([](const std::string& meter, const ParamMap& params, Nanoseconds interval,
                       bool drifting) {
             return MeterSpec{.clock = {.period = interval, .drifting = drifting},
                              .what = value_or_raise(meter_named(meter, params))};
           }),
           py::arg("meter"), py::arg("params") = ParamMap{}, py::kw_only(),
           py::arg("interval") = TimerClock{}.period, py::arg("drifting") = false)
      .def_property_readonly("meter", [](const MeterSpec& s) { return name_of(s.what); })
      .def_property_readonly("params", [](const MeterSpec& s) { return params_of(s.what); })
      .def_property_readonly("interval", [](const MeterSpec& s) { return s.clock.period; })
      .def_property_readonly("drifting", [](const MeterSpec& s) { return s.clock.drifting; })
      .def("to_dict", &spec_dict)
      .def_property_readonly("measured_as", &measured_as)
      .def(
          "__eq__", [](const MeterSpec& a, const MeterSpec& b) { return a == b; },
          py::is_operator())
      .def("__repr__", [](const MeterSpec& s) {
        std::vector<std::string> fields;
        for (const auto& [name, value] : spec_dict(s)) {
          fields.push_back(py::str("{}={!r}").format(name, value).cast<std::string>());
        }
        return fmt::format("MeterSpec({})", fmt::join(fields, ", "));
      });
  m.def("describe_meters", [] {
    auto meters = describe_meters();
    meters.emplace_back(ProbeSpec::kInfo, describe<ProbeSpec>());
    return describe_entry_list(meters);
  });
}

py::array_t<double> ratios_of(const HitCurve& curve, const Column<Count>& capacities) {
  std::vector<double> ratios;
  for (const Count capacity : span_of(capacities)) ratios.push_back(curve.ratio(capacity));
  return to_array(std::move(ratios));
}

HitCurve sum_of(const HitCurve& a, const HitCurve& b) {
  HitCurve sum = a;
  sum.merge(b);
  return sum;
}

void bind_curve(py::module_& m) {
  const auto bound = def_fields(
      py::class_<HitCurve>(m, "HitCurve",
                           "Hits of an LRU cache at every capacity, exact." MCSIM_CONSTANT),
      std::tuple{MCSIM_FIELDS(HitCurve, accesses, saturation)});
  def_views(bound, std::tuple{MCSIM_FIELDS(HitCurve, distances, cumulative)})
      .def(py::init<>())
      .def(
          "hits", [](const HitCurve& c, Count capacity) { return c.hits(capacity); },
          py::arg("capacity"))
      .def(
          "hits",
          [](const HitCurve& c, const Column<Count>& capacities) {
            return to_array(c.points(span_of(capacities)));
          },
          py::arg("capacity"))
      .def(
          "ratio", [](const HitCurve& c, Count capacity) { return c.ratio(capacity); },
          py::arg("capacity"))
      .def("ratio", &ratios_of, py::arg("capacity"))
      .def("capacity_for", &HitCurve::capacity_for, py::arg("hits"))
      .def(
          "sampled",
          [](const HitCurve& c, const Column<Count>& capacities) {
            return c.sampled(span_of(capacities));
          },
          py::arg("capacities"))
      .def("merge", &sum_of, py::arg("other"))
      .def(
          "__eq__", [](const HitCurve& a, const HitCurve& b) { return a == b; }, py::is_operator())
      .def("__repr__", [](const HitCurve& c) {
        return fmt::format("HitCurve(accesses={}, saturation={}, ratio={:.4f})", c.accesses(),
                           c.saturation(), c.ratio(c.saturation()));
      });
}

// Return an array [period, vm] of a figure.
template <class Row, class Read>
auto table(const Series<Row>& rows, Read&& read) {
  const std::size_t vms = rows.empty() ? 0 : rows.front().size();
  return read_only(filled({rows.size(), vms}, [&](std::size_t i) {
    return std::invoke(read, rows[i / vms][i % vms]);
  }));
}

const MeterResult& metered(const Characterised& found, const MeterSpec& spec) {
  const MeterResult* of = found.find(spec);
  if (of == nullptr) throw Error{invalid_argument("this meter was not requested")};
  return *of;
}

// Collects all figures of a meter by name.
struct Tables {
  const MeterValues& measured;
  py::dict d = {};

  void operator()(const CurveMeter&) {}
  void operator()(const LoadMeter& meter) { add_fields<Load>(meter); }
  void operator()(const DistinctMeter&) {
    d["distinct"] = table(std::get<Series<Count>>(measured), std::identity());
  }
  void operator()(const IntensityMeter&) {
    const Series<Intensity>& values = std::get<IntensitySeries>(measured).values;
    d["intensity"] = table(values, &Intensity::value);
    d["window_unique"] = table(values, &Intensity::window_unique);
  }
  void operator()(const ClassMeter& meter) { add_fields<ClassCounts>(meter); }
  void operator()(const ResponseMeter& meter) { add_fields<Responses>(meter); }

 private:
  template <class Row>
  void add_fields(const auto& meter) {
    visit_fields(meter, [&](const char* name, auto read) {
      d[name] = table(std::get<Series<Row>>(measured), read);
    });
  }
};

py::dict tables_of(const Characterised& found, const MeterSpec& spec) {
  const MeterResult& of = metered(found, spec);
  Tables tables{.measured = *of.measured};
  std::visit(tables, of.spec.what);
  return tables.d;
}

// Every non-empty window of an intensity meter.
py::dict windows_of(const Characterised& found, const MeterSpec& spec) {
  const auto* series = std::get_if<IntensitySeries>(metered(found, spec).measured.get());
  if (series == nullptr) {
    throw Error{invalid_argument("a meter '{}' has no windows", name_of(spec.what))};
  }
  const auto column = [&](auto read) { return read_only(column_of(series->samples, read)); };
  py::dict d;
  d["end"] = column(&RiSample::window_end);
  d["vm"] = column(&RiSample::vm);
  d["intensity"] = column(&RiSample::reuse_intensity);
  d["accesses"] = column(&RiSample::accesses);
  return d;
}

// Sets the IndexError directly: py::index_error is translated by the pybind11 module that was
// imported first, which may not recognise this module's exception.
std::size_t checked_index(const char* what, py::ssize_t index, std::size_t size) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) {
    const std::string text = fmt::format("{} {}: there are {} of them", what, index, size);
    PyErr_SetString(PyExc_IndexError, text.c_str());
    throw py::error_already_set();
  }
  return static_cast<std::size_t>(index);
}

// Return the curve as read at the end of the period.
HitCurve curve_of_period(const Characterised& found, const MeterSpec& spec, py::ssize_t period,
                         py::ssize_t vm) {
  const MeterResult& of = metered(found, spec);
  if (!std::holds_alternative<CurveMeter>(spec.what)) {
    throw Error{invalid_argument("a meter '{}' has no curves", name_of(spec.what))};
  }
  const std::size_t at = checked_index("period", period, of.periods());
  return curve_at(of, at + 2, static_cast<VmId>(checked_index("vm", vm, of.vms)));
}

void bind_characterise(py::module_& m) {
  using C = Characterised;
  py::class_<C, std::shared_ptr<C>>(m, "Characterised",
                                    "Measurements by period and VM." MCSIM_CONSTANT)
      .def(py::init<>())
      .def_property_readonly("specs",
                             [](const C& c) {
                               std::vector<MeterSpec> specs;
                               for (const MeterResult& of : c.meters) specs.push_back(of.spec);
                               return specs;
                             })
      .def_property_readonly("whole_curves", [](const C& c) { return *c.whole_curves; })
      .def(
          "cuts",
          [](const C& c, const MeterSpec& spec) {
            const Cuts& cuts = *metered(c, spec).cuts;
            return to_array(std::vector<std::int64_t>(cuts.begin(), cuts.end()));
          },
          py::arg("spec"))
      .def("tables", &tables_of, py::arg("spec"))
      .def("windows", &windows_of, py::arg("spec"))
      .def("curve", &curve_of_period, py::arg("spec"), py::arg("period"), py::arg("vm"));
  m.def(
      "characterise",
      [](const Accesses& accesses, const std::vector<MeterSpec>& specs, py::object progress,
         const std::vector<C>& known) {
        const Tick tick = make_tick(std::move(progress));
        py::gil_scoped_release release;
        return std::make_shared<C>(value_or_raise(characterise(accesses, specs, tick, 0, known)));
      },
      py::arg("accesses"), py::arg("specs"), py::arg("progress") = py::none(), py::kw_only(),
      py::arg("known") = std::vector<C>());
}

void bind_profile_file(py::module_& m) {
  m.def(
      "write_profile",
      [](const Characterised& found, const std::optional<MeterSpec>& meter,
         const std::string& path) {
        raise_if_error(without_gil([&] { return write_profile(found, meter, path); }));
      },
      py::arg("found"), py::arg("meter"), py::arg("path"));
  m.def(
      "read_profile",
      [](const Accesses& accesses, const std::optional<MeterSpec>& meter, const std::string& path) {
        return std::make_shared<Characterised>(
            value_or_raise(without_gil([&] { return read_profile(accesses, meter, path); })));
      },
      py::arg("accesses"), py::arg("meter"), py::arg("path"));
  m.def(
      "describe_profile",
      [](const std::string& path) {
        return value_or_raise(without_gil([&] { return describe_profile(path); }));
      },
      py::arg("path"));
  m.attr("PROFILE_VERSION") = kProfileVersion;
}

template <class Key>
void bind_distances(py::module_& m) {
  m.def(
      "reuse_distances",
      [](const ConstantColumn<Key>& ids) {
        const std::span<const Key> keys = span_of(ids);
        return to_array(value_or_raise(without_gil([&] { return distances_of(keys); })));
      },
      py::arg("ids").noconvert());
  m.def(
      "reuse_histogram",
      [](const ConstantColumn<Key>& ids) {
        const std::span<const Key> keys = span_of(ids);
        DistanceHistogram histogram =
            value_or_raise(without_gil([&] { return histogram_of(keys); }));
        return py::make_tuple(to_array(std::move(histogram.distance)),
                              to_array(std::move(histogram.count)), histogram.cold);
      },
      py::arg("ids").noconvert());
  m.def(
      "hit_curve",
      [](const ConstantColumn<Key>& ids) {
        const std::span<const Key> keys = span_of(ids);
        py::gil_scoped_release release;
        return HitCurve(value_or_raise(histogram_of(keys)));
      },
      py::arg("ids").noconvert());
}

// Returns the number of each key, from 0 in order of first appearance.
void bind_numbers(py::module_& m) {
  m.def(
      "number_keys",
      [](const ConstantColumn<std::uint64_t>& keys) {
        const std::span<const std::uint64_t> all = span_of(keys);
        std::vector<std::uint32_t> numbers(all.size());
        without_gil([&] { BlockTable().number(all, numbers); });
        return to_array(std::move(numbers));
      },
      py::arg("keys").noconvert());
}

void merge_sketch(HyperLogLog& sketch, const HyperLogLog& other) {
  // A copy, because a thread that waited for one sketch while it used another could wait for ever.
  const HyperLogLog copy = [&] {
    const ExclusiveUse use(other);
    return other;
  }();
  const ExclusiveUse use(sketch);
  raise_if_error(sketch.merge(copy));
}

void bind_sketch(py::module_& m) {
  py::class_<HyperLogLog>(m, "HyperLogLog",
                          "Estimates the number of distinct keys." MCSIM_CALLS_WAIT)
      .def(py::init([](double error) {
             return HyperLogLog(value_or_raise(HyperLogLog::precision_for(error)));
           }),
           py::arg("error") = 0.01)
      .def(
          "add",
          [](HyperLogLog& sketch, const Column<std::uint64_t>& keys) {
            const ExclusiveUse use(sketch);
            const std::span<const std::uint64_t> all = span_of(keys);
            without_gil([&] {
              for (const std::uint64_t key : all) sketch.add(key);
            });
          },
          py::arg("keys"))
      .def("estimate",
           [](const HyperLogLog& sketch) {
             const ExclusiveUse use(sketch);
             return sketch.estimate();
           })
      .def("clear",
           [](HyperLogLog& sketch) {
             const ExclusiveUse use(sketch);
             sketch.clear();
           })
      .def("merge", &merge_sketch, py::arg("other"))
      .def_property_readonly("precision", &HyperLogLog::precision)
      .def_property_readonly("standard_error", &HyperLogLog::standard_error);
}

}  // namespace

void bind_locality(py::module_& parent) {
  py::module_ m = parent.def_submodule("locality", "Reuse distances, hit curves, profiles.");
  bind_curve(m);
  bind_numbers(m);
  bind_spec(m);
  bind_characterise(m);
  bind_profile_file(m);
  bind_distances<std::uint64_t>(m);
  bind_distances<std::uint32_t>(m);
  bind_sketch(m);
}

}  // namespace mcsim::python
