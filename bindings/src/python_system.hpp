#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/src/placed_extents.hpp"
#include "bindings/src/pybind.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim::python {

// Make a system from a Python allocator. Its method `allocate(seen)` is called with the GIL held
// when a timer fires; `mcsim.Allocator` documents its arguments, results and attributes.
std::shared_ptr<System> make_python_system(py::object allocator, const SystemContext& context);

// The part that all observations of an allocator have in common.
struct ObservedRun {
  Machine machine = {};
  std::vector<Timer> timers = {};
  std::vector<Meter> meters = {};  // the usual ones first, which are fields of an observation
  std::vector<std::string> meter_names = {};
  std::string probe_name = {};  // empty: no probe
  std::vector<std::string> vm_names = {};
  Count block_bytes = 0;
};
inline constexpr std::size_t kUsualMeters = 3;

// Return the fields of mcsim.Observation, in arrays that are copies. `placed` is null if no extents
// are placed.
py::object observation_of(const ObservedRun& run, const Observation& seen, PlacedExtents* placed);

// Convert the result of an allocator: None, an array of targets, or a mcsim.Decision. apply()
// checks the lengths of its lists. `name` is the class of the allocator, for messages.
absl::StatusOr<std::optional<Decision>> decision_from(const py::object& answer,
                                                      const std::string& name,
                                                      const Machine& machine,
                                                      const Observation& seen,
                                                      PlacedExtents* placed);

}  // namespace mcsim::python
