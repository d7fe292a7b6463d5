#include <cstdlib>

#include "bindings/src/bind.hpp"
#include "bindings/src/pybind.hpp"
#include "core/base/isa.hpp"

namespace mcsim::python {
namespace {

// The exception classes live in mcsim/errors.py; this is which status is which.
const char* exception_name(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return "ConfigError";
    case absl::StatusCode::kDataLoss:
      return "TraceError";
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kPermissionDenied:
      return "HostError";
    case absl::StatusCode::kResourceExhausted:
      return "OutOfMemoryError";
    default:
      return "InternalError";
  }
}

void set_python_error(const absl::Status& status) {
  const py::object kind =
      py::module_::import("mcsim.base.errors").attr(exception_name(status.code()));
  PyErr_SetString(kind.ptr(), message_of(status).c_str());
}

// A choice of the user's that cannot be had is not passed over. Python makes it an
// ImportError with this cause.
void check_environment() {
  const auto isa = isa_from_environment();
  if (isa.ok()) return;
  set_python_error(isa.status());
  throw py::error_already_set();
}

}  // namespace

Tick make_tick(py::object progress) {
  auto shared = std::make_shared<py::object>(std::move(progress));
  return [shared](Count done) -> absl::Status {
    py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!shared->is_none()) (*shared)(done);
    return absl::OkStatus();
  };
}

void bind_errors(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      set_python_error(error.status);
    }
  });
  check_environment();
  m.attr("__version__") = MCSIM_VERSION;
  m.attr("__compiler__") = MCSIM_COMPILER;
}

}  // namespace mcsim::python
