#include "policies/eviction/all.hpp"
#include "policies/registry/entries.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {

std::vector<EvictionRegistry::EntryType> queue_policies() { return entries_of(QueuePolicies{}); }

}  // namespace mcsim
