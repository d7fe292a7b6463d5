#pragma once

#include <pybind11/pybind11.h>

// A function for each binding file; module.cpp calls them in order.
namespace mcsim::python {

void bind_accesses(pybind11::module_& m);
void bind_chains(pybind11::module_& m);
void bind_errors(pybind11::module_& m);
void bind_estimators(pybind11::module_& m);
void bind_hash_ranges(pybind11::module_& m);
void bind_locality(pybind11::module_& m);
void bind_optimizers(pybind11::module_& m);
void bind_partial_curves(pybind11::module_& m);
void bind_partial_distances(pybind11::module_& m);
void bind_partial_samples(pybind11::module_& m);
void bind_policies(pybind11::module_& m);
void bind_run(pybind11::module_& m);
void bind_synthetic(pybind11::module_& m);
void bind_systems(pybind11::module_& m);
void bind_trace(pybind11::module_& m);

}  // namespace mcsim::python
