#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "policies/replay/request_hits.hpp"

// Caches of many sizes from one pass over a trace, counted exactly as replays count.
//
// A stack algorithm keeps in a cache all that it keeps in any smaller one (Mattson,
// Gecsei, Slutz, Traiger, 1970), so every access has a stack distance, the smallest
// cache in which it hits. For LRU that is the reuse distance and 1. For MRU it is the
// position in a stack in which an access changes places with the block on top: what
// was there is the one to leave, wherever there is no space.
//
// OPT and perfect LFU are stack algorithms too, but known ways to their distances walk
// the stack at every access; so those are replayed.
namespace mcsim {

// From how many sizes on one pass is less work than replays, for that policy with its
// parameters as they are by default; none if it cannot be counted so.
std::optional<std::size_t> one_pass_pays_from(std::string_view policy);

struct SizesPass {
  std::vector<CacheCounts> counts;    // one a capacity
  std::vector<RequestHits> requests;  // likewise
  std::size_t bytes = 0;              // held in the pass
  double seconds = 0;                 // CPU time
};

// Counts the caches of all `capacities`, and the hits of `requests` if there are any. `tick`
// receives the number of accesses of each piece.
absl::StatusOr<SizesPass> count_all_sizes(std::string_view policy, const AccessBatch<>& trace,
                                          std::size_t unique, std::span<const Count> capacities,
                                          const RequestColumns& requests,
                                          const std::function<absl::Status(std::size_t)>& tick);

// What the pass will hold at most.
std::size_t bytes_of_all_sizes(std::string_view policy, std::size_t unique);

}  // namespace mcsim
