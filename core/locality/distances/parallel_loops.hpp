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

// Accesses take the slots from `slot` on, each a code, and belong to one of at most 256
// parts, by the hash of the key or the number of the block.
//
// part_of[i]: which part keys[i] belongs to.
template <Isa kIsa>
void divide_keys(std::span<const std::uint64_t> keys, std::uint32_t parts,
                 std::span<std::uint8_t> part_of);
template <Isa kIsa>
void divide_blocks(std::span<const std::uint32_t> blocks, std::uint32_t parts,
                   std::span<std::uint8_t> part_of);
// Sorts keys by part: to_keys[p] and to_codes[p] are where those of part p and their
// codes go, in order.
template <Isa kIsa>
void scatter_keys(std::span<const std::uint64_t> keys, std::span<const std::uint8_t> part_of,
                  std::uint32_t slot, std::span<std::uint64_t*> to_keys,
                  std::span<std::uint32_t*> to_codes);
template <Isa kIsa>
void scatter_blocks(std::span<const std::uint32_t> blocks, std::span<const std::uint8_t> part_of,
                    std::uint32_t slot, std::span<std::uint32_t*> to_blocks,
                    std::span<std::uint32_t*> to_codes);
// Copies the keys of part `mine` of 2^k parts and their codes; returns how many they are. There
// must be room for all and kPartSlack more. `part_of`, unless null, gets the part of each.
inline constexpr std::size_t kPartSlack = 16;
template <Isa kIsa>
std::size_t select_keys(std::span<const std::uint64_t> keys, std::uint32_t parts,
                        std::uint32_t mine, std::uint32_t slot, std::uint64_t* to_keys,
                        std::uint32_t* to_codes, std::uint8_t* part_of);
template <Isa kIsa>
std::size_t select_blocks(std::span<const std::uint32_t> blocks, std::uint32_t parts,
                          std::uint32_t mine, std::uint32_t slot, std::uint32_t* to_blocks,
                          std::uint32_t* to_codes, std::uint8_t* part_of);
// Turns last accesses into what they are once the live slots of the axis have moved
// to its front.
template <Isa kIsa>
void move_key_values(BlockTable& table, const TimeAxis& axis);
template <Isa kIsa>
void move_block_values(std::span<std::uint32_t> last, const TimeAxis& axis);
// codes[i] = the next of lists[list_of[i]]; kPartSlack beyond a list's end can be read.
template <Isa kIsa>
void gather_codes(std::span<const std::uint8_t> list_of, std::span<const std::uint32_t*> lists,
                  std::span<std::uint32_t> codes);
// Counts the distances of accesses whose last ones are known, by their codes, 0 for none: of
// those with codes from `first` > 0 to `last`. `live` slots were so before the first access.
// These slots die, by group_counts instead of the slots' own; what is in other groups of
// LiveSlots::kGroupCodes is not looked at.
template <Isa kIsa>
void count_stretch(const LiveSlots& slots, std::uint32_t* group_counts, DistanceBins& bins,
                   std::span<const std::uint32_t> codes, std::uint32_t first, std::uint32_t last,
                   std::uint32_t live);

}  // namespace mcsim
