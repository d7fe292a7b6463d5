#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// A version of a cache library, and the policy that has its hits.
struct Library {
  ComponentInfo info;
  const char* version;
  const char* policy;      // NAME or NAME(PARAM=VALUE,…); empty if no policy has its hits
  const char* difference;  // how close the hits are, or why no policy has them
};

std::span<const Library> libraries();

// Return the library of that name; null if there is none.
const Library* library_named(std::string_view name);

// Return the libraries as members of the registry of eviction policies. Their only
// parameter is the version, for results; no other version than that of the table is accepted.
std::vector<EvictionRegistry::EntryType> library_policies();

}  // namespace mcsim
