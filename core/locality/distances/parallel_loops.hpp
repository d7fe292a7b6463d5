#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/isa.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/live_slots.hpp"
#include "core/locality/distances/distance_state.hpp"

// The loops of ParallelDistances (parallel_loops.inl).
namespace mcsim {

// Keys with hashes from `first` to `first + extent`.
struct HashRange {
  std::uint64_t first;
  std::uint64_t extent;
};

// Copies the keys in a range of hashes and their codes on the time axis, on which the keys take the
// slots from `slot` on. Returns their number. Both outputs need kSelectSlack entries more than
// keys.
inline constexpr std::size_t kSelectSlack = 16;
template <Isa kIsa>
std::size_t select_keys(std::span<const std::uint64_t> keys, HashRange range, std::uint32_t slot,
                        std::uint64_t* to_keys, std::uint32_t* to_codes);
// Maps last accesses to their codes after the live slots of the axis have moved to its front.
template <Isa kIsa>
void move_key_values(BlockTable& table, const TimeAxis& axis);
// Codes that stand for no access.
inline constexpr std::uint32_t kNoAccess = 0xffffffff;
// Counts the distances of accesses, given the codes of their previous accesses (0: none), for those
// with codes from `first` > 0 to `last`. `live` slots were live before the first access. The slots
// of these codes are cleared in group_counts instead of the slots' own group counts. Other groups
// of LiveSlots::kGroupCodes are not read.
template <Isa kIsa>
void count_axis_range(const LiveSlots& slots, std::uint32_t* group_counts, DistanceBins& bins,
                      std::span<const std::uint32_t> codes, std::uint32_t first, std::uint32_t last,
                      std::uint32_t live);

}  // namespace mcsim
