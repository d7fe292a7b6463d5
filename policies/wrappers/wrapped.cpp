#include "policies/wrappers/wrapped.hpp"

#include "core/base/registry.hpp"

namespace mcsim {
namespace {

// Every wrapper simulates its policy at dozens of sizes, so memory grows exponentially with the
// depth.
constexpr int kMostWrappers = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<TierCache>> make_wrapped(const ComponentSpec& spec,
                                                        const PolicySetup& setup) {
  if (setup.wrapped == kMostWrappers) {
    return invalid_argument("{}: nested in {} wrappers; at most {} are supported", spec.name,
                            setup.wrapped, kMostWrappers);
  }
  PolicySetup own = setup;
  ++own.wrapped;
  own.trace = {};
  own.table = std::make_shared<SlotTable>(setup.first_block + setup.blocks, 1);
  own.column = 0;
  MCSIM_ASSIGN_OR_RETURN(auto cache, setup.others->make(spec.name, spec.params, own));
  if (cache->needs_next_use()) {
    return invalid_argument("{} needs the future of the trace: it cannot be wrapped", spec.name);
  }
  if (cache->needs_times()) {
    return invalid_argument("{} reads the time of accesses: it cannot be wrapped", spec.name);
  }
  return cache;
}

void claim_column(const PolicySetup& setup) {
  if (setup.table == nullptr) return;
  DenseIndex column = index_for(setup);
  for (std::size_t i = 0; i < setup.blocks; ++i) {
    column.set(setup.first_block + i, 0);
  }
}

}  // namespace mcsim
