#pragma once

#include <vector>

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Return the registry of eviction policies: those of `all.hpp`, the names of libraries, then those
// added later. The returned registry stays valid and unchanged when policies are added.
const EvictionRegistry& eviction_registry();

// Return its members without the names of libraries.
std::vector<EvictionRegistry::EntryType> eviction_policies();

// Return the policies of the lists in `all.hpp`; each list is compiled on its own.
std::vector<EvictionRegistry::EntryType> queue_policies();
std::vector<EvictionRegistry::EntryType> ranking_policies();
std::vector<EvictionRegistry::EntryType> deployed_policies();

// Add policies compiled elsewhere, all or none of them. Fails if a name is taken or invalid. The
// data behind the entries must live until the process ends.
absl::Status add_eviction_policies(const std::vector<EvictionRegistry::EntryType>& policies);

// Add or replace a policy defined in Python. Its name contains a ':', unlike those of built-in
// policies. The data behind `info` must live until the process ends.
void put_eviction_policy(EvictionRegistry::EntryType policy);

}  // namespace mcsim
