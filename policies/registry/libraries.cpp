#include "policies/registry/libraries.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "core/base/component_spec.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

// Hits were compared in 54 cells: nine traces at six sizes each, of one thread, where a miss is
// followed by an insertion.
constexpr const char* kExact = "exact in 54 of 54 cells";

constexpr auto kLibraries = std::to_array<Library>({
    {{"golang-lru", "LRU of hashicorp/golang-lru for Go.", "simplelru/lru.go, November 2026"},
     "2.0.7",
     "lru",
     kExact},
    {{"golang-lru-2q", "2Q of hashicorp/golang-lru for Go.", "2q.go, November 2026"},
     "2.0.7",
     "2q(variant=golang-lru)",
     "equal to the printed digit in ten cells"},
    {{"golang-lru-arc", "ARC of hashicorp/golang-lru for Go.", "arc/arc.go, November 2026"},
     "2.0.7",
     "arc(step=integer,ghosts=golang-lru)",
     "equal to the printed digit in ten cells; the library may hold one entry more than its size"},
    {{"groupcache", "LRU of golang/groupcache for Go.", "lru/lru.go, November 2026"},
     "20241129",
     "lru",
     kExact},
    {{"lru-rs", "Crate lru for Rust.", "src/lib.rs, November 2026"}, "0.19.1", "lru", kExact},
    {{"node-lru-cache", "Package lru-cache for Node.js.", "src/index.ts, November 2026"},
     "11.5.3",
     "lru",
     kExact},
    {{"quick-lru", "Package quick-lru for Node.js, which holds up to 2 maxSize - 1 entries.",
      "index.js, November 2026"},
     "7.3.0",
     "generations",
     "maxSize M is a capacity of 2 M - 1; blocks that expire at a hit still hit until the next "
     "miss: within 1 point in 19 of 21 cells, 10 and 20 points more in the others, 69 on a loop of "
     "fewer keys than it can hold"},
    {{"thi-lru", "LRU and TLRU of @thi.ng/cache for Node.js.", "src/lru.ts, November 2026"},
     "2.3.82",
     "lru",
     kExact},
    {{"thi-mru", "MRU of @thi.ng/cache for Node.js.", "src/mru.ts, November 2026"},
     "2.3.82",
     "mru",
     kExact},
    {{"neophi-sieve", "Package @neophi/sieve-cache for Node.js.", "src/index.ts, November 2026"},
     "1.5.0",
     "sieve",
     kExact},
    {{"cachetools-lru", "LRUCache and TLRUCache of cachetools for Python.",
      "cachetools, November 2026"},
     "8.0.0",
     "lru",
     kExact},
    {{"cachetools-fifo", "FIFOCache of cachetools for Python.", "cachetools, November 2026"},
     "8.0.0",
     "fifo",
     kExact},
    {{"cachetools-lfu", "LFUCache of cachetools for Python.", "cachetools, November 2026"},
     "8.0.0",
     "lfu",
     kExact},
    {{"cachetools-rr", "RRCache of cachetools for Python.", "cachetools, November 2026"},
     "8.0.0",
     "random",
     "other draws: within 0.8 points, mostly 0.2"},
    {{"guava", "CacheBuilder of Guava for Java, with its default concurrency level.",
      "LocalCache.java, November 2026"},
     "33.8.0-jre",
     "shards(n=4,least=10,policy=lru)",
     "the segments are those of another hash: within 0.1 points in nine cells"},
    {{"guava-1", "CacheBuilder of Guava for Java with concurrencyLevel(1).",
      "LocalCache.java, November 2026"},
     "33.8.0-jre",
     "lru",
     kExact},
    {{"foyer-fifo", "FIFO of foyer for Rust with one shard.", "eviction/fifo.rs, November 2026"},
     "0.22.6",
     "fifo",
     kExact},
    {{"foyer-lru", "LRU of foyer for Rust with one shard.", "eviction/lru.rs, November 2026"},
     "0.22.6",
     "two-pool-lru",
     "its difference to LRU is equal to the printed digit on seven traces; the default is "
     "shards(n=8,policy=foyer-lru), by another hash"},
    {{"foyer-sieve", "SIEVE of foyer for Rust with one shard.", "eviction/sieve.rs, November 2026"},
     "0.22.6",
     "sieve",
     kExact},
    {{"quick-cache", "Synchronised cache of quick_cache for Rust on two cores.",
      "src/shard.rs, November 2026"},
     "0.7.0",
     "shards(n=8,least=32,policy=clock-pair)",
     "other hashes, and shards rounded down: within 0.8 points in ten cells; it has four shards a "
     "core, as a power of two"},
    {{"quick-cache-unsync", "Unsynchronised cache of quick_cache for Rust.",
      "src/shard.rs, November 2026"},
     "0.7.0",
     "clock-pair",
     "the accessed ghost is not a candidate for eviction: within 0.02 points in six cells, 2 "
     "points "
     "on a loop"},
    {{"moka", "TinyLFU of moka for Rust, pending tasks run after each call.",
      "src/sync_base/base_cache.rs, November 2026"},
     "0.12.16",
     "tinylfu(start=0.5)",
     "other hashes in the sketch, which has at least 128 blocks: within 1.3 points in ten cells; "
     "as installed it holds up to 64 entries more"},
    {{"moka-lru", "LRU of moka for Rust, pending tasks run after each call.",
      "src/sync_base/base_cache.rs, November 2026"},
     "0.12.16",
     "lru",
     "exact in 54 of 54 cells; as installed it holds up to 64 entries more"},
    {{"caffeine", "Caffeine for Java, maintenance in the calling thread.",
      "BoundedLocalCache.java, November 2026"},
     "3.2.4",
     "w-tinylfu(climb=true,step=-0.0625,start=0.5,jitter=true)",
     "other hashes and draws, no lost reads: within 1.6 points in nine cells of recorded traces, "
     "4 points on a loop"},
    {{"sqlite", "Page cache of a connection to SQLite, with pages of one size.",
      "src/pcache1.c, November 2026"},
     "3.40.1",
     "lru",
     "cache_size N is a capacity of N - 1: equal in each read of four replays, if references are "
     "page 1, and all pages from the root to the leaf; of a table with one page above its leaves, "
     "reads of leaves alone are equal at N - 3"},
    {{"ristretto", "Ristretto for Go.", "policy.go, November 2026"},
     "2.4.2",
     "",
     "it samples victims, and as installed drops a third to two thirds of the insertions"},
    {{"stretto", "Stretto for Rust.", "src/policy.rs, November 2026"},
     "0.9.0",
     "",
     "it serves values before they are admitted, and holds more than its limit"},
    {{"sieve-cache", "Crate sieve-cache for Rust.", "src/lib.rs, November 2026"},
     "1.2.0",
     "",
     "it moves the newest entry under the hand at each eviction, which is not SIEVE: up to 32 "
     "points of hit ratio lower"},
    {{"tinyufo", "TinyUFO for Rust.", "src/lib.rs, November 2026"},
     "0.9.1",
     "",
     "its sketch, which counts misses only, is not modelled; s3-fifo is up to 69 points away"},
    {{"ehcache", "Heap tier of Ehcache for Java.", "OnHeapStore.java, November 2026"},
     "3.12.0",
     "",
     "it evicts the oldest of 8 entries in the order of its hash table, by milliseconds"},
});

struct VersionParam {
  std::string version;

  static constexpr auto fields() {
    return std::tuple{Field{"version", &VersionParam::version, "version of the library"}};
  }
};

absl::StatusOr<std::unique_ptr<TierCache>> make_cache(const Library& library,
                                                      const ParamMap& params,
                                                      const PolicySetup& setup) {
  MCSIM_ASSIGN_OR_RETURN(const VersionParam given, parse_params<VersionParam>(params));
  if (!given.version.empty() && given.version != library.version) {
    return invalid_argument("version: expected {}, got '{}'", library.version, given.version);
  }
  if (*library.policy == '\0') {
    return invalid_argument("no policy has the hits of {}: {}", library.version,
                            library.difference);
  }
  MCSIM_ASSIGN_OR_RETURN(const ComponentSpec spec, parse_component(library.policy));
  return eviction_registry().make(spec.name, spec.params, setup);
}

}  // namespace

std::span<const Library> libraries() { return kLibraries; }

const Library* library_named(std::string_view name) {
  const auto found = std::ranges::find_if(
      kLibraries, [&](const Library& library) { return library.info.name == name; });
  return found == kLibraries.end() ? nullptr : &*found;
}

std::vector<EvictionRegistry::EntryType> library_policies() {
  std::vector<EvictionRegistry::EntryType> entries;
  for (const Library& library : kLibraries) {
    std::vector<ParamInfo> params = describe<VersionParam>();
    params.front().default_value = std::string(library.version);
    entries.push_back({library.info, params, [&library](const ParamMap& given, PolicySetup setup) {
                         return make_cache(library, given, setup);
                       }});
  }
  return entries;
}

}  // namespace mcsim
