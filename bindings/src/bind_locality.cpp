#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/pybind.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/profile/profile.hpp"

namespace mcsim::python {
namespace {

// Enumerations are strings in Python, the same as in YAML.
// A dictionary of the whole spec, in the order of the constructor.
py::dict spec_dict(const ProfileSpec& spec) {
  py::dict d;
  d["interval"] = spec.interval;
  d["drifting"] = spec.drifting;
  d["scope"] = name_of(spec.scope);
  d["distance_limit"] = spec.distance_limit;
  d["ri_window"] = spec.ri_window;
  d["ri_aggregate"] = name_of(spec.ri_aggregate);
  d["unique"] = name_of(spec.unique);
  return d;
}

void bind_spec(py::module_& m) {
  py::class_<ProfileSpec>(m, "ProfileSpec", "What to measure of every VM, and how often.")
      .def(py::init([](Nanoseconds interval, bool drifting, const std::string& scope,
                       Count distance_limit, Nanoseconds ri_window, const std::string& ri_aggregate,
                       const std::string& unique) {
             return ProfileSpec{
                 .interval = interval,
                 .drifting = drifting,
                 .scope = choice_or_raise<DistanceScope>("scope", scope),
                 .distance_limit = distance_limit,
                 .ri_window = ri_window,
                 .ri_aggregate = choice_or_raise<RiAggregate>("ri_aggregate", ri_aggregate),
                 .unique = choice_or_raise<UniqueCounter>("unique", unique)};
           }),
           py::kw_only(), py::arg("interval") = ProfileSpec{}.interval,
           py::arg("drifting") = ProfileSpec{}.drifting,
           py::arg("scope") = name_of(ProfileSpec{}.scope),
           py::arg("distance_limit") = ProfileSpec{}.distance_limit,
           py::arg("ri_window") = ProfileSpec{}.ri_window,
           py::arg("ri_aggregate") = name_of(ProfileSpec{}.ri_aggregate),
           py::arg("unique") = name_of(ProfileSpec{}.unique))
      .def_readonly("interval", &ProfileSpec::interval)
      .def_readonly("drifting", &ProfileSpec::drifting)
      .def_property_readonly("scope", [](const ProfileSpec& s) { return name_of(s.scope); })
      .def_readonly("distance_limit", &ProfileSpec::distance_limit)
      .def_readonly("ri_window", &ProfileSpec::ri_window)
      .def_property_readonly("ri_aggregate",
                             [](const ProfileSpec& s) { return name_of(s.ri_aggregate); })
      .def_property_readonly("unique", [](const ProfileSpec& s) { return name_of(s.unique); })
      .def("to_dict", &spec_dict)
      .def(
          "__eq__", [](const ProfileSpec& a, const ProfileSpec& b) { return a == b; },
          py::is_operator())
      .def("__repr__", [](const ProfileSpec& s) {
        std::vector<std::string> fields;
        for (const auto& [name, value] : spec_dict(s)) {
          fields.push_back(py::str("{}={!r}").format(name, value).cast<std::string>());
        }
        return fmt::format("ProfileSpec({})", fmt::join(fields, ", "));
      });
}

void bind_curve(py::module_& m) {
  py::class_<HitCurve>(m, "HitCurve", "Hits of an LRU cache at every capacity, exact.")
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
      .def(
          "ratio",
          [](const HitCurve& c, const Column<Count>& capacities) {
            std::vector<double> ratios;
            for (const Count capacity : span_of(capacities)) ratios.push_back(c.ratio(capacity));
            return to_array(std::move(ratios));
          },
          py::arg("capacity"))
      .def_property_readonly("accesses", &HitCurve::accesses)
      .def_property_readonly("saturation", &HitCurve::saturation)
      .def("capacity_for", &HitCurve::capacity_for, py::arg("hits"))
      .def(
          "sampled",
          [](const HitCurve& c, const Column<Count>& capacities) {
            return c.sampled(span_of(capacities));
          },
          py::arg("capacities"))
      .def(
          "merge",
          [](const HitCurve& a, const HitCurve& b) {
            HitCurve sum = a;
            sum.merge(b);
            return sum;
          },
          py::arg("other"))
      .def_property_readonly("distances",
                             [](const py::object& self) {
                               return view_of(self.cast<const HitCurve&>().distances(), self);
                             })
      .def_property_readonly("cumulative",
                             [](const py::object& self) {
                               return view_of(self.cast<const HitCurve&>().cumulative(), self);
                             })
      .def(
          "__eq__", [](const HitCurve& a, const HitCurve& b) { return a == b; }, py::is_operator())
      .def("__repr__", [](const HitCurve& c) {
        return fmt::format("HitCurve(accesses={}, saturation={}, ratio={:.4f})", c.accesses(),
                           c.saturation(), c.ratio(c.saturation()));
      });
}

// A read-only array [interval, vm] of one figure.
template <class T, class Read>
py::array_t<T> table(const Profile& profile, Read&& read) {
  std::vector<T> values;
  const auto& rows = profile.measured->vms;
  for (const auto& interval : rows) {
    for (const VmProfile& vm : interval) values.push_back(static_cast<T>(std::invoke(read, vm)));
  }
  const auto intervals = static_cast<py::ssize_t>(rows.size());
  const auto vms = static_cast<py::ssize_t>(rows.empty() ? 0 : rows.front().size());
  return to_array(std::move(values)).reshape({intervals, vms});
}

template <class T, class Read>
py::array_t<T> series(const Profile& profile, Read&& read) {
  std::vector<T> values;
  values.reserve(profile.measured->reuse_intensity.size());
  for (const RiSample& sample : profile.measured->reuse_intensity) {
    values.push_back(std::invoke(read, sample));
  }
  return to_array(std::move(values));
}

// Set by hand: py::index_error is turned into Python's by whichever pybind11
// module was imported first, and that one may not recognise ours.
std::size_t checked_index(const char* what, py::ssize_t index, std::size_t size) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) {
    const std::string text = fmt::format("{} {}: this profile has {} of them", what, index, size);
    PyErr_SetString(PyExc_IndexError, text.c_str());
    throw py::error_already_set();
  }
  return static_cast<std::size_t>(index);
}

HitCurve curve_at(const Profile& profile, py::ssize_t interval, py::ssize_t vm) {
  const std::size_t at = checked_index("interval", interval, profile.interval_count());
  return profile.curve(at, checked_index("vm", vm, profile.measured->distances.size()));
}

void bind_profile(py::module_& m) {
  using P = Profile;
  py::class_<P, std::shared_ptr<P>>(m, "Profile", "What was measured, by interval and VM.")
      .def_readonly("spec", &P::spec)
      .def_property_readonly("interval_count", &P::interval_count)
      .def_property_readonly(
          "cuts",
          [](const P& p) {
            return to_array(std::vector<std::int64_t>(p.cuts().begin(), p.cuts().end()));
          })
      .def_property_readonly("requests",
                             [](const P& p) { return table<Count>(p, &VmProfile::requests); })
      .def_property_readonly("accesses",
                             [](const P& p) { return table<Count>(p, &VmProfile::accesses); })
      .def_property_readonly("reads", [](const P& p) { return table<Count>(p, &VmProfile::reads); })
      .def_property_readonly("unique_blocks",
                             [](const P& p) { return table<Count>(p, &VmProfile::unique_blocks); })
      .def_property_readonly(
          "reuse_intensity",
          [](const P& p) { return table<double>(p, &VmProfile::reuse_intensity); })
      .def_property_readonly(
          "ri_window_unique",
          [](const P& p) { return table<Count>(p, &VmProfile::ri_window_unique); })
      .def("curve", &curve_at, py::arg("interval"), py::arg("vm"))
      .def_property_readonly(
          "ri_time", [](const P& p) { return series<Nanoseconds>(p, &RiSample::window_end); })
      .def_property_readonly("ri_vm", [](const P& p) { return series<VmId>(p, &RiSample::vm); })
      .def_property_readonly(
          "ri_value", [](const P& p) { return series<double>(p, &RiSample::reuse_intensity); })
      .def_property_readonly("ri_accesses",
                             [](const P& p) { return series<Count>(p, &RiSample::accesses); });
  m.def(
      "characterise",
      [](const Accesses& accesses, const std::vector<ProfileSpec>& specs, py::object progress) {
        const Tick tick = make_tick(std::move(progress));
        Characterised found;
        {
          py::gil_scoped_release release;
          found = value_or_raise(characterise(accesses, specs, tick));
        }
        return py::make_tuple(std::move(found.profiles), std::move(found.whole_curves));
      },
      py::arg("accesses"), py::arg("specs"), py::arg("progress") = py::none());
}

template <class Key>
void bind_distances(py::module_& m) {
  m.def(
      "reuse_distances",
      [](const Column<Key>& ids) {
        std::vector<Count> distances;
        {
          const std::span<const Key> keys = span_of(ids);
          py::gil_scoped_release release;
          distances = value_or_raise(distances_of(keys));
        }
        return to_array(std::move(distances));
      },
      py::arg("ids").noconvert());
  m.def(
      "reuse_histogram",
      [](const Column<Key>& ids) {
        DistanceHistogram histogram;
        {
          const std::span<const Key> keys = span_of(ids);
          py::gil_scoped_release release;
          histogram = value_or_raise(histogram_of(keys));
        }
        return py::make_tuple(to_array(std::move(histogram.distance)),
                              to_array(std::move(histogram.count)), histogram.cold);
      },
      py::arg("ids").noconvert());
  m.def(
      "hit_curve",
      [](const Column<Key>& ids) {
        const std::span<const Key> keys = span_of(ids);
        py::gil_scoped_release release;
        return HitCurve(value_or_raise(histogram_of(keys)));
      },
      py::arg("ids").noconvert());
}

void bind_sketch(py::module_& m) {
  py::class_<HyperLogLog>(m, "HyperLogLog", "Estimates how many distinct keys it was given.")
      .def(py::init([](double error) {
             return HyperLogLog(value_or_raise(HyperLogLog::precision_for(error)));
           }),
           py::arg("error") = 0.01)
      .def(
          "add",
          [](HyperLogLog& sketch, const Column<std::uint64_t>& keys) {
            const std::span<const std::uint64_t> all = span_of(keys);
            py::gil_scoped_release release;
            for (const std::uint64_t key : all) sketch.add(key);
          },
          py::arg("keys"))
      .def("estimate", &HyperLogLog::estimate)
      .def("clear", &HyperLogLog::clear)
      .def(
          "merge",
          [](HyperLogLog& sketch, const HyperLogLog& other) {
            raise_if_error(sketch.merge(other));
          },
          py::arg("other"))
      .def_property_readonly("precision", &HyperLogLog::precision)
      .def_property_readonly("standard_error", &HyperLogLog::standard_error);
}

}  // namespace

void bind_locality(py::module_& parent) {
  py::module_ m = parent.def_submodule("locality", "Reuse distances, hit curves, profiles.");
  bind_curve(m);
  bind_spec(m);
  bind_profile(m);
  bind_distances<std::uint64_t>(m);
  bind_distances<std::uint32_t>(m);
  bind_sketch(m);
}

}  // namespace mcsim::python
