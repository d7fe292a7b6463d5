#include "policies/eviction/all.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

template <class... Ps>
std::vector<EvictionRegistry::EntryType> entries_of(TypeList<Ps...>) {
  return EvictionRegistry("", TypeList<PolicyCacheOf<Ps>...>{}).entries();
}

}  // namespace

std::vector<EvictionRegistry::EntryType> deployed_policies() {
  return entries_of(DeployedPolicies{});
}

}  // namespace mcsim
