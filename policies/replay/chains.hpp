#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "policies/replay/simulate.hpp"

// Replays of requests that are chains of blocks, as in KV caches of language models. A request
// first looks up all its blocks, and hits those before the first one that is not cached. It then
// touches its blocks, and inserts missing ones.
namespace mcsim {

struct Chains {
  // Index of the first block of each request, and the number of blocks.
  std::span<const std::int64_t> starts;
  // The blocks of each request from head to tail. A block always follows the same block.
  std::span<const BlockId> blocks;
  std::size_t unique = 0;  // blocks are below

  std::size_t size() const { return starts.empty() ? 0 : starts.size() - 1; }
  std::span<const BlockId> chain(std::size_t request) const {
    const auto begin = static_cast<std::size_t>(starts[request]);
    return blocks.subspan(begin, static_cast<std::size_t>(starts[request + 1]) - begin);
  }
};

// Check that the requests cover all blocks, in order, and that blocks are below `unique`.
absl::Status check_chains(const Chains& chains);

// Return the number of blocks that follow different blocks, or are first in some requests only.
std::size_t count_conflicts(const Chains& chains);

// Return the hits of each request in a cache with an eviction policy of blocks. Tails are touched
// first unless `head_first` is set. Fails if the policy needs the future or times.
absl::StatusOr<std::vector<std::uint32_t>> replay_blocks(const Chains& chains,
                                                         const CacheConfig& config,
                                                         bool head_first);

// A cache that is divided among tenants, anew from some requests on.
struct Divisions {
  std::span<const std::uint32_t> tenant = {};    // of each request
  std::span<const std::uint32_t> division = {};  // in force at each request
  std::span<const Count> parts = {};  // blocks of each tenant, one division after another
  std::size_t tenants = 0;

  Count part(std::size_t division_number, std::size_t tenant_number) const {
    return parts[division_number * tenants + tenant_number];
  }
};

// Check that there is a tenant and a division for each request, and that no part is negative.
absl::Status check_divisions(const Divisions& divisions, std::size_t requests);

// Return the hits of each request in the part of its tenant. Each part is LRU, touches tails first,
// and evicts blocks when it gets smaller.
std::vector<std::uint32_t> replay_parts(const Chains& chains, const Divisions& divisions);

// Return, for each block, the tier that has it when its request looks it up; tiers.size() for the
// first missing block and those behind it. Each tier is LRU. Blocks are touched in the first tier,
// tails first, and a load from another tier also touches the copy there. A victim is touched in the
// next tier, or copied to it.
std::vector<std::uint8_t> replay_copies(const Chains& chains, std::span<const Count> tiers);

}  // namespace mcsim
