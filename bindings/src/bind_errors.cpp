#include <stdexcept>
#include <string_view>
#include <system_error>

#include "bindings/src/bind.hpp"
#include "bindings/src/pybind.hpp"
#include "bindings/src/python_policy.hpp"
#include "core/base/guarded.hpp"
#include "core/base/isa.hpp"

namespace mcsim::python {
namespace {

// Maps status codes to the exception classes of mcsim/base/errors.py.
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
    case absl::StatusCode::kAborted:
      return "EmptyTraceError";
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
  // A message may quote bytes or names of files that are not valid UTF-8.
  const std::string message = message_of(status);
  const auto text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      message.data(), static_cast<py::ssize_t>(message.size()), "backslashreplace"));
  if (text) PyErr_SetObject(kind.ptr(), text.ptr());
}

// Whether the host refused a thread or a lock: oneTBB throws an error with the name of the function
// that failed.
bool is_of_threads(const std::runtime_error& error) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system != nullptr) {
    return of_system->code() == std::errc::resource_unavailable_try_again;
  }
  return std::string_view(error.what()).find("pthread") != std::string_view::npos;
}

// Rejects an instruction set that the user chose and the machine lacks, instead of ignoring the
// choice. Python raises an ImportError with this cause.
void check_environment() {
  const auto isa = isa_from_environment();
  if (isa.ok()) return;
  set_python_error(isa.status());
  throw py::error_already_set();
}

}  // namespace

Tick make_tick(py::object progress) {
  return make_tick(std::move(progress), std::make_shared<PythonFailure>());
}

void bind_errors(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      set_python_error(error.status);
    } catch (const std::bad_alloc&) {
      set_python_error(out_of_memory("mcsim"));
    } catch (const std::runtime_error& error) {
      if (!is_of_threads(error)) throw;
      set_python_error(absl::UnavailableError(fmt::format(
          "a thread cannot be started ({}): raise the limit of processes (ulimit -u) or of address "
          "space (ulimit -v), or use one thread",
          error.what())));
    }
  });
  check_environment();
  m.attr("__version__") = MCSIM_VERSION;
  m.attr("__compiler__") = MCSIM_COMPILER;
}

}  // namespace mcsim::python
