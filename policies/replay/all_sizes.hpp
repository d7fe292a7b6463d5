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

// Caches of many sizes from one pass over a trace, with the counts of exact replays.
//
// In a stack algorithm, a cache contains all blocks of any smaller cache (Mattson, Gecsei, Slutz,
// Traiger, 1970). Every access therefore has a stack distance: the size of the smallest cache in
// which it hits. For LRU it is the reuse distance + 1. For MRU it is the position in a stack in
// which an accessed block is exchanged with the top block: the former top block is the victim
// wherever there is no space.
//
// OPT and perfect LFU are stack algorithms too, but known algorithms for their distances traverse
// the stack at every access. They are therefore replayed.
namespace mcsim {

// Return the number of sizes from which one pass is faster than replays, for this policy with
// default parameters; none if the policy has no one-pass algorithm.
std::optional<std::size_t> one_pass_pays_from(std::string_view policy);

struct SizesPass {
  std::vector<CacheCounts> counts;    // one per capacity
  std::vector<RequestHits> requests;  // one per capacity
  std::size_t bytes = 0;              // memory of the pass
  double seconds = 0;                 // CPU time
};

// Count the caches of all `capacities`, and the hits of `requests` if there are any. `tick`
// receives the number of accesses of each piece.
absl::StatusOr<SizesPass> count_all_sizes(std::string_view policy, const AccessBatch<>& trace,
                                          std::size_t unique, std::span<const Count> capacities,
                                          const RequestColumns& requests,
                                          const std::function<absl::Status(std::size_t)>& tick);

// Return an upper bound of the memory of the pass.
std::size_t bytes_of_all_sizes(std::string_view policy, std::size_t unique);

}  // namespace mcsim
