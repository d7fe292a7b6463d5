#pragma once

#include <memory>

#include "bindings/src/pybind.hpp"
#include "core/engine/system.hpp"

namespace mcsim::python {

// A system whose allocator is a Python object with
//
//   allocate(seen) -> int array [tiers, vms], or None to leave all as it is
//
// called at the end of every interval with the GIL held. Optional attributes:
// `resize_mode` ("eager", "lazy", "strict-own"; lazy), `interval` (ns; the
// experiment's), `ri_window` (ns; 60 s).
std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context);

}  // namespace mcsim::python
