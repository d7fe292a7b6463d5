#include "bindings/src/exclusive_use.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "bindings/src/pybind.hpp"

namespace mcsim::python {
namespace {

// The objects in use and their threads. Never destroyed, as threads may outlive static objects.
struct Uses {
  std::mutex mutex;
  std::condition_variable ended;
  std::unordered_map<const void*, std::thread::id> thread_of;
};
Uses& uses() {
  static auto* const all = new Uses;
  return *all;
}

}  // namespace

ExclusiveUse::ExclusiveUse(const void* object, Reentry reentry) : object_(object) {
  Uses& all = uses();
  const std::thread::id self = std::this_thread::get_id();
  {
    const std::lock_guard lock(all.mutex);
    const auto [use, is_free] = all.thread_of.try_emplace(object, self);
    if (is_free) return;
    if (use->second == self && reentry == Reentry::kAllowed) {
      object_ = nullptr;
      return;
    }
    if (use->second == self) {
      throw Error{absl::FailedPreconditionError(
          "an object was called while it was at work in the same thread, from a callback or a "
          "signal handler: call it after that work")};
    }
  }
  const py::gil_scoped_release release;
  std::unique_lock lock(all.mutex);
  all.ended.wait(lock, [&] { return all.thread_of.try_emplace(object, self).second; });
}

ExclusiveUse::~ExclusiveUse() {
  if (object_ == nullptr) return;
  Uses& all = uses();
  {
    const std::lock_guard lock(all.mutex);
    all.thread_of.erase(object_);
  }
  all.ended.notify_all();
}

}  // namespace mcsim::python
