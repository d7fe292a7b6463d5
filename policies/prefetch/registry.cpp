#include "policies/prefetch/registry.hpp"

#include "policies/prefetch/prefetchers.hpp"

namespace mcsim {
namespace {

// All prefetchers.
using AllPrefetchers = TypeList<NoPrefetch, OneAhead, Readahead, StreamAhead>;

}  // namespace

const Registry<Prefetcher, PrefetchSetup>& prefetch_registry() {
  static const Registry<Prefetcher, PrefetchSetup> registry("prefetcher", AllPrefetchers{});
  return registry;
}

}  // namespace mcsim
