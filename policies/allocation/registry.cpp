#include "policies/allocation/all.hpp"

namespace mcsim {

const Registry<System, SystemContext>& system_registry() {
  static const Registry<System, SystemContext> registry("system", AllSystems{});
  return registry;
}

}  // namespace mcsim
