// Lacks all that an eviction policy must do but access, size and capacity.
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

class HalfAPolicy {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{.name = "half", .summary = "half", .reference = "none"};
  HalfAPolicy(const Params&, const PolicySetup&) {}
  bool access(const auto&, auto&) { return false; }
  Count size() const { return 0; }
  Count capacity() const { return 1; }
};

template class PolicyCacheOf<HalfAPolicy>;

}  // namespace mcsim
