// One policy under a new name and one under a name that mcsim has.
#include "core/engine/policy/export_policies.hpp"
#include "policies/eviction/lru.hpp"

namespace mcsim {
namespace {

struct NewLru : Lru {
  static constexpr ComponentInfo kInfo{
      .name = "plugin-new", .summary = "LRU from a library.", .reference = "see lru"};
  using Lru::Lru;
};

}  // namespace
}  // namespace mcsim

MCSIM_EXPORT_POLICIES(mcsim::NewLru, mcsim::Lru);
