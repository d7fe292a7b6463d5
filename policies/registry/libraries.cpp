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
    {{"ehcache", "Heap tier of Ehcache for Java, with one access a millisecond.",
      "OnHeapStore.java, November 2026"},
     "3.12.0",
     "sampled-lru(samples=8,pool=1,resolution=1)",
     "it evicts the oldest of 8 neighbours in its hash table, where successive integers are "
     "neighbours: within 1.2 points in six cells, 48 points on a loop of such keys, 10 on one of "
     "scattered keys; the faster the accesses, the closer to random"},
    {{"foyer-s3fifo", "S3-FIFO of foyer for Rust with one shard.",
      "eviction/s3fifo.rs, November 2026"},
     "0.22.6",
     "s3-fifo(variant=foyer,promote_at=1)",
     "equal in nine cells of generated traces and, to the printed digit, in four of recorded ones; "
     "the default is shards(n=8,policy=foyer-s3fifo), by another hash"},
    {{"foyer-lfu", "LFU of foyer for Rust with one shard.", "eviction/lfu.rs, November 2026"},
     "0.22.6",
     "w-tinylfu(window=0.1,protected_share=0.889,sketch_blocks=2719,sample=1,counters=3,"
     "admit_ties=true)",
     "its sketch has one size for all caches; hashes are others, and counts end at 15: within 0.5 "
     "points in six cells, 15 points on a loop"},
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
    {{"otter", "Otter for Go, with an executor that runs tasks in the caller.",
      "policy.go, November 2026"},
     "2.4.0",
     "w-tinylfu(climb=true,step=-0.0625,start=0.5,jitter=true)",
     "a port of Caffeine with another hash and other draws: within 1.2 points in nine cells of "
     "generated traces"},
    {{"theine-go", "Theine for Go, waiting for its policy after each insertion.",
      "internal/tlfu.go, November 2026"},
     "0.6.3",
     "w-tinylfu(climb=true,step=-0.0625,start=0.5,jitter=true)",
     "its sketch starts small and loses all counts when it grows, and hits reach the policy in "
     "batches: within 0.9 points in six cells, 6.5 points on a loop"},
    {{"theine", "Theine for Python.", "theine.py, November 2026"},
     "2.0.0",
     "w-tinylfu(climb=true,step=-0.0625,start=0.5,jitter=true)",
     "hits reach the policy in batches of 16, of which there are four a core: within 0.7 points in "
     "six cells, 5 points on a loop"},
    {{"cache2k", "cache2k for Java.", "ClockProPlusEviction.java, November 2026"},
     "2.6.1.Final",
     "shards(n=2,least=500,policy=clock-pair(variant=cache2k,most=0))",
     "equal in nine cells below 1,000 entries; above, its segments are those of another hash and "
     "may "
     "evict several entries at once: within 0.1 points in three cells"},
    {{"ristretto", "Ristretto for Go, waiting for its policy after each insertion.",
      "policy.go, November 2026"},
     "2.4.2",
     "",
     "the victim is the least accessed of five sampled entries, accesses count in batches of 64, "
     "and the four rows of its sketch collide for the same keys: tinylfu is within 3 points in six "
     "cells, 4.4 on a loop; as installed it also drops a third to two thirds of the insertions"},
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
     "it has no ghosts, and a victim that was missed more often than the new entry stays: s3-fifo "
     "is within 0.9 points in six cells, 68 points away on a loop"},
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
