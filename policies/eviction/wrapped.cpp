#include "policies/eviction/wrapped.hpp"

#include "policies/eviction/registry.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<PolicyCache>> make_wrapped(const ComponentSpec& spec,
                                                          const PolicySetup& setup) {
  PolicySetup without_trace = setup;
  without_trace.trace = {};
  MCSIM_ASSIGN_OR_RETURN(auto cache,
                         eviction_registry().make(spec.name, spec.params, without_trace));
  if (cache->needs_next_use()) {
    return invalid_argument("{} must know the future: it cannot be wrapped", spec.name);
  }
  return cache;
}

}  // namespace mcsim
