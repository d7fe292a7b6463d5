#pragma once

#include <memory>

#include "bindings/src/pybind.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim::python {

// A system whose allocator is a Python object with `allocate(seen)`, called at the end of every
// interval with the GIL held; what it may see, answer and say of itself is documented at
// `mcsim.Allocator`.
std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context);

}  // namespace mcsim::python
