#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "bindings/src/pybind.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim::python {

// The first exception of Python on its way through threads and code that know of none:
// where it comes up it is kept and a status goes on in its place; where Python is near
// again it is thrown, by who made this or, of who has but the status, by raise_if_error.
// Who is about to call Python asks first whether there is one, so that all threads stop.
class PythonFailure {
 public:
  absl::Status keep(std::exception_ptr exception);
  absl::Status status() const;
  void rethrow_if_any();

 private:
  mutable std::mutex mutex_;
  std::exception_ptr first_;
  std::string number_;  // of what a status says of it
};

// As make_tick, but nothing is thrown.
Tick make_tick(py::object progress, std::shared_ptr<PythonFailure> failure);

// An eviction policy written in Python, see mcsim/python_policies.py.
struct PythonPolicy {
  std::string name;    // of the class
  bool is_function;    // of what is known of a block; else hooks
  py::object factory;  // (capacity, seed) -> a policy that was started
};

// A cache under the policy. Python is first called when the replay begins; all calls
// are made with the GIL held, which a replay gives away when other threads of Python
// want it.
std::unique_ptr<TierCache> make_python_cache(std::shared_ptr<const PythonPolicy> policy,
                                             const PolicySetup& setup,
                                             std::shared_ptr<PythonFailure> failure);

// Lets data paths ask for the policy by a name with a ':' in it, anew if they could before.
void put_python_policy(const std::string& name, std::shared_ptr<const PythonPolicy> policy);

}  // namespace mcsim::python
