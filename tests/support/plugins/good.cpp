// Two policies under new names, as a library of their own.
#include "core/engine/policy/export_policies.hpp"
#include "policies/eviction/lru.hpp"
#include "policies/eviction/slru.hpp"

namespace mcsim {
namespace {

struct NamedLru : Lru {
  static constexpr ComponentInfo kInfo{
      .name = "plugin-lru", .summary = "LRU from a library.", .reference = "see lru"};
  using Lru::Lru;
};

struct NamedSlru : Slru {
  static constexpr ComponentInfo kInfo{
      .name = "plugin-slru", .summary = "SLRU from a library.", .reference = "see slru"};
  using Slru::Slru;
};

}  // namespace
}  // namespace mcsim

MCSIM_EXPORT_POLICIES(mcsim::NamedLru, mcsim::NamedSlru);
