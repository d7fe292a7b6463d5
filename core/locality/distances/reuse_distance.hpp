#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// Reuse distance of an access: the number of distinct other blocks accessed since the previous
// access to the same block; kCold for a first access. LRU of size c hits iff distance < c.
inline constexpr Count kCold = -1;

// Whether an access with this distance is the first to its block since a moment after which
// `distinct` blocks have been accessed. It is if all these blocks were accessed since the block's
// last access.
inline bool is_new(Count distance, Count distinct) {
  static_assert(kCold == -1, "the largest of unsigned numbers");
  return static_cast<std::uint64_t>(distance) >= static_cast<std::uint64_t>(distinct);
}

// Exact distances by an order-statistics structure over last access times
// (Olken 1981). O(log n) per access.
//
// distances_of() keeps one distance per access, histogram_of() only the counts.
// Both fail if there are more than DistanceOptions::kMaxBlocks distinct keys.
absl::StatusOr<std::vector<Count>> distances_of(std::span<const std::uint64_t> keys);
absl::StatusOr<std::vector<Count>> distances_of(std::span<const std::uint32_t> keys);
// For a stream with discards, each before the key at a position (References).
absl::StatusOr<std::vector<Count>> distances_of(const References& references);
absl::StatusOr<DistanceHistogram> histogram_of(std::span<const std::uint64_t> keys);
absl::StatusOr<DistanceHistogram> histogram_of(std::span<const std::uint32_t> keys);

}  // namespace mcsim
