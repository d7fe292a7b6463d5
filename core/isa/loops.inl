// Every hot loop, for the instruction set MCSIM_ISA. One file includes it for each.
#include "core/base/begin_isa.hpp"

namespace mcsim::MCSIM_ISA {

constexpr Isa kThisIsa = MCSIM_ISA_NUMBER(MCSIM_ISA) == 512 ? Isa::kAvx512
                         : MCSIM_ISA_NUMBER(MCSIM_ISA) == 2 ? Isa::kAvx2
                                                            : Isa::kPortable;

#include "core/containers/live_slots.inl"
//
#include "core/containers/block_table.inl"
//
#include "core/locality/distances/distance_loops.inl"
//
#include "core/containers/sample_filter.inl"
//
#include "core/locality/distances/parallel_loops.inl"

}  // namespace mcsim::MCSIM_ISA

namespace mcsim {

using MCSIM_ISA::kThisIsa;

template <>
void exchange_keys<kThisIsa>(BlockTable& table, std::span<const std::uint64_t> keys,
                             std::span<const std::uint32_t> values, std::uint32_t first,
                             std::uint32_t* previous) {
  MCSIM_ISA::update_all_keys(table, keys, [&](std::size_t i, std::uint32_t value) {
    previous[values[i] - first] = value;
    return values[i];
  });
}

template <>
void number_keys<kThisIsa>(BlockTable& table, std::span<const std::uint64_t> keys,
                           std::span<std::uint32_t> numbers) {
  auto next = static_cast<std::uint32_t>(table.size()) + 1;
  MCSIM_ISA::update_all_keys(table, keys, [&](std::size_t i, std::uint32_t value) {
    const std::uint32_t number = value == 0 ? next : value;
    next += value == 0 ? 1 : 0;
    numbers[i] = number - 1;
    return number;
  });
}

template <>
void find_keys<kThisIsa>(const BlockTable& table, std::span<const std::uint64_t> keys,
                         std::span<std::uint32_t> values) {
  if (table.is_wide()) {
    MCSIM_ISA::find_in<MCSIM_ISA::WideLines>(table, keys, values);
  } else {
    MCSIM_ISA::find_in<MCSIM_ISA::NarrowLines>(table, keys, values);
  }
}

template <>
bool count_key_distances<kThisIsa>(BlockTable& table, DistanceState& state,
                                   std::span<const std::uint64_t> keys, Count* distances,
                                   Count max_blocks) {
  return MCSIM_ISA::count_keys(table, state, keys, distances, max_blocks);
}

template <>
void count_block_distances<kThisIsa>(std::span<std::uint32_t> last, DistanceState& state,
                                     std::span<const std::uint32_t> blocks, Count* distances) {
  MCSIM_ISA::count_dense(last, state, blocks, distances);
}

template <>
void count_among_holes<kThisIsa>(DistanceState& state, std::span<const std::uint32_t> before,
                                 Count* distances) {
  MCSIM_ISA::count_previous(state, before, distances);
}

template <>
Count depth_of<kThisIsa>(const DistanceState& state, std::uint32_t code) {
  return MCSIM_ISA::depth_of(state, code);
}

template <>
void move_codes<kThisIsa>(std::span<std::uint32_t> codes, const TimeAxis& axis) {
  MCSIM_ISA::move_values(axis,
                         [&](auto&& move) { MCSIM_ISA::DenseSource(codes).for_each_last(move); });
}

template <>
std::size_t select_keys<kThisIsa>(std::span<const std::uint64_t> keys, HashRange range,
                                  std::uint32_t slot, std::uint64_t* to_keys,
                                  std::uint32_t* to_codes) {
  MCSIM_ISA::Selection selection{range, to_keys, to_codes};
  MCSIM_ISA::for_each_run(keys.size(), slot,
                          [&](std::size_t i, std::size_t count, std::uint32_t code) {
                            selection.select(keys.subspan(i, count), code);
                          });
  return selection.count;
}

template <>
void move_key_values<kThisIsa>(BlockTable& table, const TimeAxis& axis) {
  MCSIM_ISA::move_values(axis, [&](auto&& move) { table.for_each_value(move); });
}

template <>
void count_axis_range<kThisIsa>(const LiveSlots& slots, std::uint32_t* group_counts,
                                DistanceBins& bins, std::span<const std::uint32_t> codes,
                                std::uint32_t first, std::uint32_t last, std::uint32_t live) {
  MCSIM_ISA::AxisRangeLoop(slots, group_counts, bins, first, last).run(codes, live);
}

template <>
std::size_t select_sampled_keys<kThisIsa>(std::span<const std::uint64_t> keys, std::uint64_t salt,
                                          std::uint64_t limit, std::uint64_t* out) {
  return MCSIM_ISA::select_sampled(keys.data(), keys.size(), salt, limit, out);
}

template <>
std::size_t select_sampled_ids<kThisIsa>(std::span<const std::uint32_t> ids, std::uint64_t salt,
                                         std::uint64_t limit, std::uint32_t* out) {
  return MCSIM_ISA::select_sampled(ids.data(), ids.size(), salt, limit, out);
}

}  // namespace mcsim

#include "core/base/end_isa.hpp"
