#include "policies/eviction/all.hpp"
#include "policies/registry/entries.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {

std::vector<EvictionRegistry::EntryType> deployed_policies() {
  return entries_of(DeployedPolicies{});
}

}  // namespace mcsim
