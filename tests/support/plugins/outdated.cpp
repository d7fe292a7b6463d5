// Built against other headers: its policies must not be read.
#include <cstdlib>

extern "C" [[gnu::visibility("default")]] const char* mcsim_policy_interface() {
  return "mcsim 0.0.1, interface 0123456789ab, Abseil 20200225, libstdc++";
}
extern "C" [[gnu::visibility("default")]] const void* mcsim_exported_policies() { std::abort(); }
