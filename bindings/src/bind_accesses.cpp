#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "bindings/src/view_options.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_file.hpp"
#include "core/trace/interning/accesses_layout.hpp"
#include "core/trace/interning/stream_interner.hpp"
#include "core/trace/intervals.hpp"
#include "core/trace/vm_accesses.hpp"

namespace mcsim::python {
namespace {

std::vector<std::pair<std::size_t, VmId>> departures_of(const Accesses& accesses) {
  std::vector<std::pair<std::size_t, VmId>> departures;
  for (const auto& [request, vm] : accesses.departures) departures.emplace_back(request, vm);
  return departures;
}

// Return a column of the discards as a view of the list that `accesses` owns.
template <class T>
py::array_t<T> discard_column(const py::object& accesses, T Discard::* member) {
  const auto& discards = accesses.cast<const Accesses&>().discards;
  const T* first = discards.empty() ? nullptr : &(discards.front().*member);
  py::array_t<T> column({discards.size()}, {sizeof(Discard)}, first, accesses);
  return read_only(std::move(column));
}

void pass(const Accesses& accesses, std::size_t begin, std::size_t end) {
  if (begin > end || end > accesses.request_count()) {
    throw Error{out_of_range("requests {} to {} of {}", begin, end, accesses.request_count())};
  }
  accesses.release_pages({begin, end});
}

void bind_interned(py::module_& m) {
  def_fields(py::class_<VmInfo>(m, "VmInfo", "A VM of an interned trace." MCSIM_CONSTANT),
             std::tuple{MCSIM_FIELDS(VmInfo, name, first_id, unique_blocks, requests, accesses)});

  using A = Accesses;
  auto bound =
      def_fields(py::class_<A>(m, "Accesses", "An interned trace." MCSIM_CONSTANT),
                 std::tuple{MCSIM_FIELDS(A, vms, block_bytes, line_blocks, warm_up,
                                         discard_requests, access_count, request_count, id_count)});
  def_views(bound, std::tuple{MCSIM_FIELDS(A, ids, request_begin, request_time, request_vm,
                                           request_op, request_response, request_class,
                                           request_bytes, request_head, block_address)})
      .def_property_readonly("departures", &departures_of)
      .def_property_readonly(
          "discard_request",
          [](const py::object& a) { return discard_column(a, &Discard::request); })
      .def_property_readonly("discard_block",
                             [](const py::object& a) { return discard_column(a, &Discard::block); })
      .def_property_readonly("given",
                             [](const A& a) {
                               return py::dict("requests"_a = a.given.requests,
                                               "accesses"_a = a.given.accesses);
                             })
      .def_property_readonly("time_base", [](const A& a) { return name_of(a.time_base); })
      .def("passed", &pass, py::arg("begin"), py::arg("end"));
}

py::array_t<Count> cuts_of(const Accesses& trace, Nanoseconds length) {
  const auto counted = std::span(trace.request_time).subspan(trace.warm_up);
  raise_if_error(check_intervals(counted, trace.time_base, "interval", length));
  Cuts cuts = aligned_cuts(counted, length);
  for (std::size_t& cut : cuts) cut += trace.warm_up;
  return to_array(std::vector<Count>(cuts.begin(), cuts.end()));
}

void bind_files_and_cuts(py::module_& m) {
  m.def(
      "write_accesses",
      [](const Accesses& accesses, const std::string& path, bool packed) {
        raise_if_error(without_gil([&] {
          return packed ? write_packed_accesses(accesses, path) : write_accesses(accesses, path);
        }));
      },
      py::arg("accesses"), py::arg("path"), py::kw_only(), py::arg("packed") = false);
  m.def(
      "open_accesses",
      [](const std::string& path, bool checked) {
        return value_or_raise(without_gil(
            [&] { return checked ? open_trusted_accesses(path) : open_accesses(path); }));
      },
      py::arg("path"), py::kw_only(), py::arg("checked") = false);
  m.def(
      "describe_accesses",
      [](const std::string& path) {
        const AccessesHead file = value_or_raise(describe_accesses(path));
        return py::make_tuple(file.accesses, file.vms, file.block_bytes);
      },
      py::arg("path"));
  m.def(
      "vm_accesses",
      [](const Accesses& accesses, VmId vm, const Column<std::int64_t>& requests) {
        const std::span<const std::int64_t> given = span_of(requests);
        return value_or_raise(without_gil([&] { return vm_accesses(accesses, vm, given); }));
      },
      py::arg("accesses"), py::arg("vm"), py::arg("requests"));
  m.attr("ACCESSES_VERSION") = kAccessesVersion;
  m.def("aligned_cuts", &cuts_of, py::arg("accesses"), py::arg("length"));
}

void add(AccessBuilder& builder, const ConstantColumn<Nanoseconds>& time,
         const ConstantColumn<VmId>& vm, const ConstantColumn<std::uint8_t>& op,
         const ConstantColumn<std::uint64_t>& offset, const ConstantColumn<std::uint32_t>& length,
         const std::optional<ConstantColumn<Nanoseconds>>& response,
         const std::optional<ConstantColumn<std::uint8_t>>& of_class, std::optional<VmId> only,
         Nanoseconds shift) {
  const ExclusiveUse use(builder);
  const RequestsView chunk = requests_of(time, vm, op, offset, length, response, of_class);
  const Tick tick = make_tick(py::none());
  raise_if_error(without_gil([&] { return builder.add(chunk, only, shift, tick); }));
}

template <absl::Status (AccessBuilder::*kMethod)(Nanoseconds)>
void call_at(AccessBuilder& builder, Nanoseconds time) {
  const ExclusiveUse use(builder);
  raise_if_error((builder.*kMethod)(time));
}

void bind_builder(py::module_& m) {
  py::class_<AccessBuilder>(m, "AccessBuilder",
                            "Interns the requests of VMs, chunk by chunk." MCSIM_CALLS_WAIT)
      .def(py::init([](const std::string& base, std::optional<std::string> path,
                       const py::kwargs& options) {
             std::optional<AccessBuilder::ToFile> to_file;
             if (path) to_file = {.path = *std::move(path)};
             return AccessBuilder(view_from(options), choice_or_raise<TimeBase>("time_base", base),
                                  std::move(to_file));
           }),
           py::kw_only(), py::arg("time_base") = "clock", py::arg("path") = py::none())
      .def(
          "begin_vm",
          [](AccessBuilder& builder, std::string name) {
            const ExclusiveUse use(builder);
            raise_if_error(builder.begin_vm(std::move(name)));
          },
          py::arg("name"))
      .def("add", &add, py::arg("time"), py::arg("vm"), py::arg("op"), py::arg("offset"),
           py::arg("length"), py::arg("response") = py::none(), py::arg("classes") = py::none(),
           py::kw_only(), py::arg("only") = py::none(), py::arg("shift") = 0)
      .def("end_warm_up",
           [](AccessBuilder& builder) {
             const ExclusiveUse use(builder);
             builder.end_warm_up();
           })
      .def("arrive", &call_at<&AccessBuilder::arrive>, py::arg("time"))
      .def("depart", &call_at<&AccessBuilder::depart>, py::arg("time"))
      .def("finish", [](AccessBuilder& builder) {
        const ExclusiveUse use(builder);
        return value_or_raise(without_gil([&] { return std::move(builder).finish(); }));
      });
}

bool add_to_stream(StreamInterner& interner, const Requests& chunk) {
  const ExclusiveUse use(interner);
  const ExclusiveUse use_of_chunk(chunk);
  return value_or_raise(without_gil([&] { return interner.add(chunk.view()); }));
}

void bind_stream_interner(py::module_& m) {
  py::class_<StreamInterner>(m, "StreamInterner",
                             "Interns requests of all VMs while they are read." MCSIM_CALLS_WAIT)
      .def(py::init([](const py::kwargs& options) {
        const ExpandOptions view = view_from(options);
        if (!StreamInterner::supports(view)) {
          throw Error{invalid_argument("interning: an option that needs an AccessBuilder")};
        }
        return StreamInterner(view);
      }))
      .def("add", &add_to_stream, py::arg("chunk"),
           "Add requests; False if an AccessBuilder must intern the file.")
      .def(
          "finish",
          [](StreamInterner& interner, const std::vector<std::string>& vms,
             const std::string& base) {
            const ExclusiveUse use(interner);
            const auto time_base = choice_or_raise<TimeBase>("time_base", base);
            return value_or_raise(
                without_gil([&] { return std::move(interner).finish(vms, time_base); }));
          },
          py::arg("vms"), py::arg("time_base"));
}

}  // namespace

void bind_accesses(py::module_& parent) {
  py::module_ m = parent.def_submodule("engine");
  bind_interned(m);
  bind_files_and_cuts(m);
  bind_builder(m);
  bind_stream_interner(m);
}

}  // namespace mcsim::python
