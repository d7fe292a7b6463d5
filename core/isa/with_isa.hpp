#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/isa.hpp"
#include "core/base/types.hpp"

// Every hot loop that is compiled for each instruction set, and the one way to
// reach it. A loop's body is an .inl file, which core/isa/{portable,avx2,avx512}.cpp
// include in turn; callers write
//
//   with_isa([&]<Isa kIsa>() { exchange_keys<kIsa>(table, keys, first, previous); });
namespace mcsim {

template <class Work>
decltype(auto) with_isa(Work&& work) {
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::kAvx512:
      return work.template operator()<Isa::kAvx512>();
    case Isa::kAvx2:
      return work.template operator()<Isa::kAvx2>();
    case Isa::kPortable:
      break;
  }
#endif
  return work.template operator()<Isa::kPortable>();
}

// --- core/containers/block_table.inl --------------------------------------------

class BlockTable;
template <Isa kIsa>
void exchange_keys(BlockTable& table, std::span<const std::uint64_t> keys, std::uint32_t first,
                   std::span<std::uint32_t> previous);
template <Isa kIsa>
void exchange_values(BlockTable& table, std::span<const std::uint64_t> keys,
                     std::span<std::uint32_t> values);
template <Isa kIsa>
void number_keys(BlockTable& table, std::span<const std::uint64_t> keys,
                 std::span<std::uint32_t> numbers);
template <Isa kIsa>
void find_keys(const BlockTable& table, std::span<const std::uint64_t> keys,
               std::span<std::uint32_t> values);

// --- core/locality/distances/distance_loops.inl -------------------------------------------

struct DistanceState;
// Counts the distances of `keys`, and lists them unless `distances` is null. False
// if there turned out to be more than `max_blocks` blocks.
template <Isa kIsa>
bool count_key_distances(BlockTable& table, DistanceState& state,
                         std::span<const std::uint64_t> keys, Count* distances, Count max_blocks);
// The same for block numbers below last.size().
template <Isa kIsa>
void count_block_distances(std::span<std::uint32_t> last, DistanceState& state,
                           std::span<const std::uint32_t> blocks, Count* distances);

// --- core/locality/distances/parallel_loops.inl --------------------------------------------

struct TimeAxis;
class DistanceBins;
class LiveSlots;
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

// --- core/containers/sample_filter.inl --------------------------------------------

// Copies, in their order, the keys with mix64(key ^ salt) <= limit to `out`, which
// has room for all, and returns how many they are.
template <Isa kIsa>
std::size_t select_sampled_keys(std::span<const std::uint64_t> keys, std::uint64_t salt,
                                std::uint64_t limit, std::uint64_t* out);
template <Isa kIsa>
std::size_t select_sampled_ids(std::span<const std::uint32_t> ids, std::uint64_t salt,
                               std::uint64_t limit, std::uint32_t* out);

}  // namespace mcsim
