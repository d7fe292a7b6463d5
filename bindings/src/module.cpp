#include "bindings/src/bind.hpp"
#include "core/base/threads.hpp"

// Registers classes before the functions that mention them.
PYBIND11_MODULE(_core, m) {
  m.doc() = "mcsim's compiled core; use the `mcsim` package instead.";
  using namespace mcsim::python;
  mcsim::prepare_threads();
  bind_errors(m);
  bind_locality(m);
  bind_estimators(m);
  bind_partial_curves(m);
  bind_hash_ranges(m);
  bind_partial_distances(m);
  bind_partial_samples(m);
  bind_optimizers(m);
  bind_trace(m);
  bind_accesses(m);
  bind_systems(m);
  bind_run(m);
  bind_policies(m);
  bind_chains(m);
  bind_synthetic(m);
}
