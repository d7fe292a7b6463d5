#include "policies/eviction/registry.hpp"

#include "policies/eviction/all.hpp"
#include "policies/eviction/wrappers.hpp"

namespace mcsim {
namespace {

template <class... Ps, class... Wrappers>
constexpr TypeList<PolicyCacheOf<Ps>..., Wrappers...> caches_of(TypeList<Ps...>,
                                                                TypeList<Wrappers...>) {
  return {};
}

}  // namespace

const Registry<PolicyCache, PolicySetup>& eviction_registry() {
  static const Registry<PolicyCache, PolicySetup> registry(
      "eviction policy", caches_of(AllEvictionPolicies{}, AllPolicyWrappers{}));
  return registry;
}

}  // namespace mcsim
