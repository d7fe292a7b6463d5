#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/policy/arrival.hpp"
#include "core/engine/policy/eviction_policy.hpp"

// A cache of some policy that is chosen at run time.
namespace mcsim {

// How many accesses before its own what a block needs is fetched.
inline constexpr std::size_t kIndexAhead = 24;
inline constexpr std::size_t kSlotAhead = 8;

// A stretch of a trace. `ops` may be empty: all are reads. `next_uses` may be
// empty unless the policy needs it. `hits`, if given, receives 1 for each access that hits, else 0.
template <class Block = BlockId>
struct AccessBatch {
  std::span<const Block> blocks;
  std::span<const std::uint8_t> ops = {};
  std::span<const NextUse> next_uses = {};
  std::span<std::uint8_t> hits = {};

  // At most `count` accesses from `begin` on.
  AccessBatch part(std::size_t begin, std::size_t count) const {
    const std::size_t length = std::min(count, blocks.size() - begin);
    const auto cut = [&](auto column) {
      return column.empty() ? column : column.subspan(begin, length);
    };
    return {cut(blocks), cut(ops), cut(next_uses), cut(hits)};
  }

  // Whether the columns have a value for each access, or none.
  absl::Status check() const {
    if (!hits.empty() && hits.size() != blocks.size()) {
      return invalid_argument("room for {} hits of {} accesses", hits.size(), blocks.size());
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
  Count partial_misses = 0;  // of the misses: other blocks of the line were held

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

// Replays a trace alone, with one virtual call a batch, or is part of a tier of a host. The
// host decides what comes in, block by block or in batches, and does its own counting.
class TierCache {
 public:
  virtual ~TierCache() = default;

  // Blocks must be below the `blocks` of the setup. Fails if the batch lacks what the
  // policy needs, or its columns differ in length.
  virtual absl::Status replay(const AccessBatch<>& batch) = 0;
  // What replay() did, and the victims of resize(capacity).
  const CacheCounts& counts() const { return counts_; }

  // An access if the block is held; else false, and nothing has happened.
  virtual bool touch(const Access<>& a) = 0;
  // A block that is not held comes in; there is a capacity. Victims are added to those
  // already there.
  virtual void insert(const Access<>& a, std::vector<BlockId>& victims) = 0;
  // A block leaves without being a victim; false if it was not held.
  virtual bool take(BlockId block) = 0;
  // The same for a discarded block, or a block of a departed VM: without an access.
  virtual bool discard(BlockId block) { return take(block); }
  virtual void resize(Count capacity, std::vector<BlockId>& victims) = 0;
  virtual void resize(Count capacity) {
    std::vector<BlockId> victims;
    resize(capacity, victims);
    counts_.evictions += static_cast<Count>(victims.size());
  }

  // Does what all arrivals of an exclusive chain ask for. What is not held, the victims, and
  // what became dirty arrive at the cache below: written from `next` on, where there must be
  // room for two an arrival and the blocks held. Returns the end of them. The cache has a
  // capacity. `uses` are given where some cache of the chain must know them; those of victims and
  // accesses are passed on.
  virtual Arrival* serve(std::span<const Arrival> arrivals, Arrival* next,
                         const ArrivalUses* uses = nullptr);

  // Towards an access to a block that has a slot.
  virtual void prefetch_slot(BlockId) const {}

  // Whether a block that is not held, and that nothing else keeps out, may come in; only a
  // selective one ever says no.
  virtual bool admits(const Access<>&) { return true; }
  virtual bool selective() const { return false; }
  // What went wrong in a policy that can fail. It goes on, but decides nothing any more.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  virtual bool contains(BlockId block) const = 0;
  virtual Count size() const = 0;
  virtual Count capacity() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool needs_next_use() const = 0;
  // Conservation of blocks, and the policy's own laws.
  virtual absl::Status check() const = 0;

 protected:
  CacheCounts counts_;
};

}  // namespace mcsim
