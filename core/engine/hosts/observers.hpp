#pragma once

#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/tiers/backend_log.hpp"

namespace mcsim {

// What records the events of a host; either may be null. Both must outlive the host.
struct Observers {
  CacheProbe* probe = nullptr;  // accesses, insertions and removals of blocks
  BackendLog* log = nullptr;    // accesses of the backend
};

}  // namespace mcsim
