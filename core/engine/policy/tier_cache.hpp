#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/arrival.hpp"
#include "core/engine/policy/eviction_policy.hpp"

// The interface of caches whose policy is selected at run time.
namespace mcsim {

// Prefetch distances, in accesses: index entries first, then the data of slots.
inline constexpr std::size_t kIndexAhead = 24;
inline constexpr std::size_t kSlotAhead = 8;

// A range of a trace. `ops` may be empty: all accesses are reads. `next_uses` and `times` may be
// empty unless the policy needs them. `hits`, if given, receives 1 for each access that hits, else
// 0.
template <class Block = BlockId>
struct AccessBatch {
  std::span<const Block> blocks;
  std::span<const std::uint8_t> ops = {};
  std::span<const NextUse> next_uses = {};
  std::span<const Nanoseconds> times = {};
  std::span<std::uint8_t> hits = {};
  std::span<const std::uint32_t> weights = {};  // bytes of each object, in caches that weigh

  // The part with at most `count` accesses from `begin` on.
  AccessBatch part(std::size_t begin, std::size_t count) const {
    const std::size_t length = std::min(count, blocks.size() - begin);
    const auto cut = [&](auto column) {
      return column.empty() ? column : column.subspan(begin, length);
    };
    return {cut(blocks), cut(ops), cut(next_uses), cut(times), cut(hits), cut(weights)};
  }

  // Check that each column has a value for each access, or is empty.
  absl::Status check() const {
    if (!hits.empty() && hits.size() != blocks.size()) {
      return invalid_argument("hits: expected {} elements, one per access, got {}", blocks.size(),
                              hits.size());
    }
    if (ops.empty() || ops.size() == blocks.size()) return absl::OkStatus();
    return invalid_argument("{} operations of {} accesses", ops.size(), blocks.size());
  }
};

struct CacheCounts {
  Count accesses = 0;
  Count hits = 0;
  Count writes = 0;
  Count write_hits = 0;
  Count evictions = 0;
  Count partial_misses = 0;  // misses that found other blocks of their line

  Count misses() const { return accesses - hits; }
  CacheCounts since(const CacheCounts& before) const {
    return {.accesses = accesses - before.accesses,
            .hits = hits - before.hits,
            .writes = writes - before.writes,
            .write_hits = write_hits - before.write_hits,
            .evictions = evictions - before.evictions,
            .partial_misses = partial_misses - before.partial_misses};
  }
  CacheCounts plus(const CacheCounts& other) const {
    return {.accesses = accesses + other.accesses,
            .hits = hits + other.hits,
            .writes = writes + other.writes,
            .write_hits = write_hits + other.write_hits,
            .evictions = evictions + other.evictions,
            .partial_misses = partial_misses + other.partial_misses};
  }
  friend bool operator==(const CacheCounts&, const CacheCounts&) = default;
};

// The background work of one tick.
struct BackgroundWork {
  std::vector<BlockId> victims;
  std::vector<BlockId> to_clean;  // blocks to write back if they are dirty

  void evicted(BlockId block) { victims.push_back(block); }
  void cleaned(BlockId block) { to_clean.push_back(block); }
};

// A cache that replays a trace on its own, with one virtual call a batch, or is part of a tier of a
// host. The host decides which blocks are inserted, one by one or in batches, and counts.
class TierCache {
 public:
  virtual ~TierCache() = default;

  // Replay a batch of blocks, all below `blocks` of the setup. Fails if a column that the policy
  // needs is missing, or if columns differ in length.
  virtual absl::Status replay(const AccessBatch<>& batch) = 0;
  // The counts of replay(), and the victims of resize(capacity).
  const CacheCounts& counts() const { return counts_; }

  // Serve an access if the block is held; otherwise return false and change nothing.
  virtual bool touch(const Access<>& a) = 0;
  // Insert a block that is not held; the capacity must not be 0. Victims are appended.
  virtual void insert(const Access<>& a, std::vector<BlockId>& victims) = 0;
  // Remove a block that is not a victim; return false if it was not held.
  virtual bool take(BlockId block) = 0;
  // Remove a discarded block, or a block of a departed VM; return false if it was not held.
  virtual bool discard(BlockId block) { return take(block); }
  virtual void resize(Count capacity, std::vector<BlockId>& victims) = 0;
  virtual void resize(Count capacity) {
    std::vector<BlockId> victims;
    resize(capacity, victims);
    counts_.evictions += static_cast<Count>(victims.size());
  }

  // Process all arrivals of an exclusive chain. The arrivals at the cache below (blocks not held
  // here, victims, and blocks that became dirty) are written from `next` on; the return value is
  // their end. There must be space for two per arrival plus the blocks held. The capacity must not
  // be 0. `uses` is given if some cache of the chain needs next uses; those of victims and accesses
  // are passed on.
  virtual Arrival* serve(std::span<const Arrival> arrivals, Arrival* next,
                         const ArrivalUses* uses = nullptr);

  // Prefetch for an access to a block that has a slot.
  virtual void prefetch_slot(BlockId) const {}

  // Return whether the policy admits a block that is not held; only selective policies reject
  // blocks. Victims are appended.
  virtual bool admits(const Access<>&, std::vector<BlockId>&) { return true; }
  virtual bool selective() const { return false; }

  // The clock of the policy, and its work in the background at that time.
  virtual Ticks ticks() const { return {}; }
  virtual void tick(Nanoseconds, BackgroundWork&) {}
  // Whether the policy has a clock or reads the time of accesses.
  virtual bool needs_times() const { return false; }
  // The first error of a policy that can fail. The cache continues without the policy's decisions.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  virtual bool contains(BlockId block) const = 0;
  virtual Count size() const = 0;
  virtual Count capacity() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool needs_next_use() const = 0;
  // Check the conservation of blocks and the invariants of the policy.
  virtual absl::Status check() const = 0;

  // Save the contents and the order of the cache and all other state of its policy, or load a state
  // into a fresh cache with the same policy, parameters and capacity. After an error the cache must
  // not be used.
  virtual absl::Status save(ArchiveWriter& to);
  virtual absl::Status load(ArchiveReader& from);

 protected:
  // Write, or read and compare, what a state belongs to.
  void save_setup(ArchiveWriter& to, const char* policy, const ParamMap& params) const;
  absl::Status load_setup(ArchiveReader& from, const char* policy, const ParamMap& params) const;

  CacheCounts counts_;
};

}  // namespace mcsim
