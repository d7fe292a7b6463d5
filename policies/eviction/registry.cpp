#include "policies/eviction/registry.hpp"

#include "policies/eviction/all.hpp"

namespace mcsim {
namespace {

template <class... Ps>
constexpr TypeList<PolicyCacheOf<Ps>...> caches_of(TypeList<Ps...>) {
  return {};
}

}  // namespace

const Registry<PolicyCache, PolicySetup>& eviction_registry() {
  static const Registry<PolicyCache, PolicySetup> registry("eviction policy",
                                                           caches_of(AllEvictionPolicies{}));
  return registry;
}

}  // namespace mcsim
