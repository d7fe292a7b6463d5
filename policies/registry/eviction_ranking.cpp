#include "policies/eviction/all.hpp"
#include "policies/registry/entries.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {

std::vector<EvictionRegistry::EntryType> ranking_policies() {
  return entries_of(RankingPolicies{});
}

}  // namespace mcsim
