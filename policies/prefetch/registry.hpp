#pragma once

#include "core/base/registry.hpp"
#include "core/engine/tiers/prefetcher.hpp"

namespace mcsim {

// Return the registry of prefetchers.
const Registry<Prefetcher, PrefetchSetup>& prefetch_registry();

}  // namespace mcsim
