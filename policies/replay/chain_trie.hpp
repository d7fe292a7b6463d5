#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/choices.hpp"
#include "policies/replay/chains.hpp"

// Caches that are tries of chains: only a block without cached successors may be evicted, and no
// block of the request that needs space. The cached blocks of a chain are therefore a prefix, and a
// request that is larger than the cache keeps its head.
namespace mcsim {

// Which leaf is evicted: the one used longest ago; the one used least often, of these the one used
// longest ago; or the one inserted longest ago.
enum class LeafRule : std::uint8_t { kLru, kLfu, kFifo };

template <>
struct Choices<LeafRule> {
  static constexpr std::array names{std::pair{"leaf-lru", LeafRule::kLru},
                                    std::pair{"leaf-lfu", LeafRule::kLfu},
                                    std::pair{"leaf-fifo", LeafRule::kFifo}};
};

// When requests finish. A request pins its cached blocks from its arrival until it finishes, and
// then uses them once more. Blocks that are pinned are not evicted.
struct Finishes {
  std::span<const std::uint32_t> order = {};  // requests in the order in which they finish
  std::span<const std::uint32_t> before =
      {};  // for each request, how many finish before it arrives
};

// Check that there is an entry for each request, and that requests arrive before they finish.
absl::Status check_finishes(const Finishes& finishes, std::size_t requests);

// Return the hits of each request. Without `finishes`, no blocks are pinned.
std::vector<std::uint32_t> replay_trie(const Chains& chains, LeafRule rule, Count capacity,
                                       const Finishes& finishes = {});

}  // namespace mcsim
