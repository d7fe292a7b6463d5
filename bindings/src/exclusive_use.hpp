#pragma once

#include <cstdint>
#include <functional>

#include "bindings/src/pybind.hpp"

namespace mcsim::python {

// The use of an object by one call at a time, for objects that change while the GIL is released.
// The GIL must be held at construction and destruction, and the object must outlive the use.
//
//   const ExclusiveUse use(builder);
//   raise_if_error(without_gil([&] { return builder.add(chunk); }));
class ExclusiveUse {
 public:
  // Whether a callback of a call may use the object, which is then between two of its steps.
  enum class Reentry : std::uint8_t { kRefused, kAllowed };

  // Waits until no other thread uses the object; meanwhile the GIL is released. Raises an error if
  // this thread uses it already and reentry is refused.
  template <class T>
  explicit ExclusiveUse(const T& object, Reentry reentry = Reentry::kRefused)
      : ExclusiveUse(static_cast<const void*>(&object), reentry) {}
  ~ExclusiveUse();
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

 private:
  ExclusiveUse(const void* object, Reentry reentry);

  const void* object_;  // null if the call around this one has the use
};

// Bind each entry of a table as a read-only property that waits for other calls and copies a member
// or the result of a function.
template <class Class, class Table>
Class def_exclusive_fields(Class bound, const Table& table) {
  for_each_field(table, [&](const char* name, auto member) {
    bound.def_property_readonly(name, [member](const typename Class::type& object) {
      const ExclusiveUse use(object);
      return std::invoke(member, object);
    });
  });
  return bound;
}

}  // namespace mcsim::python

// The thread contracts of classes, for the ends of their docstrings.
#define MCSIM_CALLS_WAIT " Any thread may call it; a call waits until others have returned."
#define MCSIM_CONSTANT " It never changes, so any threads may read it at once."
