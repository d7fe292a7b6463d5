#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "bindings/src/pybind.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim::python {

// Carries the first Python exception through threads and code that cannot handle it: keep() stores
// it and returns a status in its place. The owner of the failure, or raise_if_error with only the
// status, rethrows it. Before each call of Python status() is checked, so that all threads stop.
class PythonFailure {
 public:
  absl::Status keep(std::exception_ptr exception);
  absl::Status status() const;
  void rethrow_if_any();

 private:
  mutable std::mutex mutex_;
  std::exception_ptr first_;
  std::string number_;  // in the payload of the status
};

// The same as make_tick, but does not throw.
Tick make_tick(py::object progress, std::shared_ptr<PythonFailure> failure);

// An eviction policy written in Python, see mcsim/policies/python_policies.py.
struct PythonPolicy {
  std::string name;    // of the class
  bool is_function;    // a priority function of blocks; otherwise hooks
  py::object factory;  // (capacity, seed) -> a started policy
};

// Makes a cache with this policy. The first call of Python is at the start of the replay. All calls
// hold the GIL, which a replay yields when other Python threads request it.
std::unique_ptr<TierCache> make_python_cache(std::shared_ptr<const PythonPolicy> policy,
                                             const PolicySetup& setup,
                                             std::shared_ptr<PythonFailure> failure);

// Registers the policy for data paths under a name with a ':'; replaces an earlier one of that
// name.
void register_python_policy(const std::string& name, std::shared_ptr<const PythonPolicy> policy);

}  // namespace mcsim::python
