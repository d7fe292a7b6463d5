#pragma once

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Makes a cache under the policy of a name: those of `all.hpp`, and after them those
// that were added. What it returns stays as it is, and valid, when more are added.
const EvictionRegistry& eviction_registry();

// Adds policies that are compiled elsewhere, all or none of them; fails if a name is
// taken or is none. What the entries point to must stay for ever.
absl::Status add_eviction_policies(const std::vector<EvictionRegistry::EntryType>& policies);

// Adds a policy that is written elsewhere and may be written anew: it takes the place of
// the one of its name, which has a ':' in it, as those of others have not. What `info`
// points to must stay for ever.
void put_eviction_policy(EvictionRegistry::EntryType policy);

}  // namespace mcsim
