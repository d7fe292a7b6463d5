// A policy with an invalid name.
#include "core/engine/policy/export_policies.hpp"
#include "policies/eviction/lru.hpp"

namespace mcsim {
namespace {

struct Misnamed : Lru {
  static constexpr ComponentInfo kInfo{
      .name = "My LRU", .summary = "LRU from a library.", .reference = "see lru"};
  using Lru::Lru;
};

}  // namespace
}  // namespace mcsim

MCSIM_EXPORT_POLICIES(mcsim::Misnamed);
