#pragma once

// The only include of pybind11, so that the whole module uses the same type casters.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <boost/preprocessor/punctuation/comma_if.hpp>
#include <boost/preprocessor/seq/for_each_i.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/index.hpp"
#include "core/base/params.hpp"
#include "core/base/registry.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/trace/requests.hpp"

// Converts positions to Python numbers, and columns of positions to columns of numbers.
namespace pybind11::detail {

template <class Kind, class Number>
struct type_caster<mcsim::Index<Kind, Number>> {
  using Position = mcsim::Index<Kind, Number>;
  PYBIND11_TYPE_CASTER(Position, const_name("int"));

  bool load(handle source, bool convert) {
    make_caster<Number> number;
    if (!number.load(source, convert)) return false;
    value = Position(cast_op<Number>(number));
    return true;
  }
  static handle cast(Position position, return_value_policy policy, handle parent) {
    return make_caster<Number>::cast(static_cast<Number>(position), policy, parent);
  }
};

template <class Kind, class Number>
struct npy_format_descriptor<mcsim::Index<Kind, Number>> : npy_format_descriptor<Number> {};

}  // namespace pybind11::detail

namespace mcsim::python {

namespace py = pybind11;
using namespace py::literals;

// Carries a status that is not OK to the exception translator (bind_errors.cpp), which raises the
// Python exception of its kind.
struct Error {
  absl::Status status;
};

// Rethrows the Python exception that the status represents, if there is one (python_policy.cpp).
void rethrow_from_python(const absl::Status& status);

inline void raise_if_error(const absl::Status& status) {
  if (status.ok()) return;
  rethrow_from_python(status);
  throw Error{status};
}

template <class T>
T value_or_raise(absl::StatusOr<T>&& result) {
  raise_if_error(result.status());
  return *std::move(result);
}

// Return the result of `work`, which runs without the GIL.
template <class Work>
auto without_gil(Work&& work) {
  py::gil_scoped_release release;
  return std::forward<Work>(work)();
}

// Return the enumerator with this name, or raise an error.
template <class E>
E choice_or_raise(const char* parameter, const std::string& name) {
  return value_or_raise(choice_named<E>(parameter, name));
}

// An input column: C-contiguous, of exactly this type, never converted.
template <class T>
using Column = py::array_t<T, py::array::c_style>;

// Return whether no Python code can change the elements: neither the array nor an array that it
// views is writable.
inline bool is_constant(const py::array& array) {
  if (array.writeable()) return false;
  const py::object base = array.base() ? array.base() : py::none();
  return !py::isinstance<py::array>(base) || is_constant(base.cast<py::array>());
}

// An input column that C++ code checks first and reads again later, without the GIL. A copy of the
// array, unless the array is constant, as the columns of mcsim's own objects are.
template <class T>
class ConstantColumn {
 public:
  ConstantColumn() = default;
  explicit ConstantColumn(const Column<T>& given)
      : column_(is_constant(given) ? given : Column<T>(given.attr("copy")("C"))) {}
  operator const Column<T>&() const { return column_; }

 private:
  Column<T> column_;
};

// An input column of numbers of any type, which are converted.
template <class T>
using Converted = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <class T>
std::span<const T> span_of(const Column<T>& column) {
  if (reinterpret_cast<std::uintptr_t>(column.data()) % alignof(T) != 0) {
    throw Error{invalid_argument(
        "a column of {} bytes an element does not lie at a multiple of them", sizeof(T))};
  }
  return {column.data(), static_cast<std::size_t>(column.size())};
}

template <class T>
std::span<const T> span_of(const ConstantColumn<T>& column) {
  return span_of(static_cast<const Column<T>&>(column));
}

// Return the columns of requests, of any length.
inline RequestsView rows_of(const Column<Nanoseconds>& time, const Column<VmId>& vm,
                            const Column<std::uint8_t>& op, const Column<std::uint64_t>& offset,
                            const Column<std::uint32_t>& length,
                            const std::optional<Column<Nanoseconds>>& response,
                            const std::optional<Column<std::uint8_t>>& of_class) {
  return {.time = span_of(time),
          .vm = span_of(vm),
          .op = span_of(op),
          .offset = span_of(offset),
          .length = span_of(length),
          .response = response ? span_of(*response) : std::span<const Nanoseconds>(),
          .of_class = of_class ? span_of(*of_class) : std::span<const std::uint8_t>()};
}

// The same, but the columns must have equal length.
inline RequestsView requests_of(const Column<Nanoseconds>& time, const Column<VmId>& vm,
                                const Column<std::uint8_t>& op, const Column<std::uint64_t>& offset,
                                const Column<std::uint32_t>& length,
                                const std::optional<Column<Nanoseconds>>& response = {},
                                const std::optional<Column<std::uint8_t>>& of_class = {}) {
  const RequestsView rows = rows_of(time, vm, op, offset, length, response, of_class);
  for (const std::size_t size :
       {rows.vm.size(), rows.op.size(), rows.offset.size(), rows.length.size()}) {
    if (size != rows.size()) {
      throw Error{invalid_argument("add: columns of {} and {} rows", rows.size(), size)};
    }
  }
  return rows;
}

template <class Array>
Array read_only(Array array) {
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

// Move a vector into a read-only array, without a copy.
template <class T>
py::array_t<T> to_array(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return read_only(py::array_t<T>(static_cast<py::ssize_t>(owned->size()), owned->data(), owner));
}

// Return a new array of this shape; `cell` returns the value at each flat index.
template <class Cell>
auto filled(const std::vector<std::size_t>& shape, Cell&& cell) {
  py::array_t<std::invoke_result_t<Cell&, std::size_t>> array(shape);
  auto* data = array.mutable_data();
  const auto size = static_cast<std::size_t>(array.size());
  for (std::size_t i = 0; i < size; ++i) data[i] = cell(i);
  return array;
}

// Return a new array of one value a row; `read` is a member of the rows or a function.
template <class Rows, class Read>
auto column_of(const Rows& rows, Read&& read) {
  return filled({rows.size()}, [&](std::size_t i) { return std::invoke(read, rows[i]); });
}

// A read-only array that views memory kept alive by `owner`.
template <class T>
py::array_t<T> view_of(std::span<const T> values, py::handle owner) {
  return read_only(py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data(), owner));
}

// Return a getter of such an array for a member, or for the result of a function.
template <class Owner, class Member>
auto viewed(Member Owner::* member) {
  return [member](const py::object& self) {
    const auto& values = std::invoke(member, self.cast<const Owner&>());
    return view_of(std::span(std::data(values), std::size(values)), self);
  };
}

// Pairs of name and pointer: std::tuple{MCSIM_FIELDS(VmInfo, name, requests)} is a table of
// members.
#define MCSIM_FIELD(r, Owner, i, member) \
  BOOST_PP_COMMA_IF(i) std::pair(BOOST_PP_STRINGIZE(member), &Owner::member)
#define MCSIM_FIELDS(Owner, ...) \
  BOOST_PP_SEQ_FOR_EACH_I(MCSIM_FIELD, Owner, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))

// Call visit(name, member) for each entry of a table, an array or a tuple of pairs.
template <class Table, class Visit>
void for_each_field(const Table& table, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field.first, field.second), ...); }, table);
}

// Bind each entry of a table as a read-only property: a member, or the result of a function.
template <class Class, class Table>
Class def_fields(Class bound, const Table& table) {
  for_each_field(table, [&](const char* name, auto member) {
    if constexpr (std::is_member_object_pointer_v<decltype(member)>) {
      bound.def_readonly(name, member);
    } else {
      bound.def_property_readonly(name, member);
    }
  });
  return bound;
}

// Bind each entry of a table as a read-only array that views memory of the object.
template <class Class, class Table>
Class def_views(Class bound, const Table& table) {
  for_each_field(table, [&](const char* name, auto member) {
    bound.def_property_readonly(name, viewed(member));
  });
  return bound;
}

// Handles signals (Ctrl-C) and calls the progress callback, from C++ code that runs without the
// GIL. `progress` may be None.
Tick make_tick(py::object progress);

// Return the entries of a list as dictionaries: name, summary, reference, params.
py::list describe_entry_list(const std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>>&);

template <class Interface, class Context>
py::list describe_registry(const Registry<Interface, Context>& registry) {
  std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>> list;
  for (const auto& entry : registry.entries()) list.emplace_back(entry.info, entry.params);
  return describe_entry_list(list);
}

}  // namespace mcsim::python

// Loads a column, then copies it if necessary.
namespace pybind11::detail {

template <class T>
struct type_caster<mcsim::python::ConstantColumn<T>> {
  using Constant = mcsim::python::ConstantColumn<T>;
  using Loaded = make_caster<mcsim::python::Column<T>>;
  PYBIND11_TYPE_CASTER(Constant, Loaded::name);

  bool load(handle source, bool convert) {
    Loaded given;
    if (!given.load(source, convert)) return false;
    value = Constant(cast_op<const mcsim::python::Column<T>&>(given));
    return true;
  }
};

}  // namespace pybind11::detail
