#include "core/locality/distances/exact_distances.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/locality/distances/parallel_loops.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

// Counts `accesses` of a stream with discards. exchange(begin, codes, before) replaces the last
// accesses of the blocks accessed from `begin` on by `codes` and stores the old ones in `before`.
// move_last() updates all last accesses after the live slots moved to the front of the axis, which
// is sized for `entries` blocks.
template <class Exchange, class MoveLast>
void count_with_holes(DistanceState& state, std::size_t accesses, Count* distances,
                      std::size_t entries, Exchange&& exchange, MoveLast&& move_last) {
  TimeAxis& axis = state.axis;
  std::array<std::uint32_t, LiveSlots::kLineSlots> codes;
  std::array<std::uint32_t, LiveSlots::kLineSlots> before;
  for (std::size_t done = 0; done < accesses;) {
    if (axis.now >= axis.slots.end_code()) {
      move_last();
      with_isa([&]<Isa kIsa>() { move_codes<kIsa>(state.holes.codes, axis); });
      axis.reset_for_blocks(entries);
    }
    const std::size_t piece = std::min(accesses - done, axis.room_in_line());
    for (std::size_t i = 0; i < piece; ++i) codes[i] = static_cast<std::uint32_t>(axis.now + i);
    exchange(done, std::span(codes).first(piece), before.data());
    with_isa([&]<Isa kIsa>() {
      count_among_holes<kIsa>(state, std::span(before).first(piece),
                              distances == nullptr ? nullptr : distances + done);
    });
    done += piece;
  }
}

// Turns the slot of a block's last access into a hole; returns the new last access.
std::uint32_t hole_of(std::uint32_t last, StackHoles& holes) {
  if (last == 0 || last == StackHoles::kDiscarded) return last;
  holes.in_use = true;
  holes.add(last);
  ++holes.discarded;
  return StackHoles::kDiscarded;
}

}  // namespace

ExactDistances::ExactDistances(DistanceOptions options)
    : options_(options), state_(options.bin_bits) {}

absl::Status ExactDistances::process(std::span<const std::uint64_t> keys) {
  return count(keys, nullptr);
}

absl::Status ExactDistances::process(std::span<const std::uint64_t> keys,
                                     std::span<Count> distances) {
  if (distances.size() != keys.size()) {
    return invalid_argument("distances: expected room for {}, got {}", keys.size(),
                            distances.size());
  }
  return count(keys, distances.data());
}

absl::Status ExactDistances::count(std::span<const std::uint64_t> keys, Count* distances) {
  bool counted = distinct() <= options_.max_blocks;
  if (counted && state_.holes.in_use) {
    count_after_discards(keys, distances);
    counted = distinct() <= options_.max_blocks;
  } else if (counted) {
    counted = with_isa([&]<Isa kIsa>() {
      return count_key_distances<kIsa>(table_, state_, keys, distances, options_.max_blocks);
    });
  }
  return counted ? absl::OkStatus() : too_many_blocks(options_.max_blocks);
}

void ExactDistances::count_after_discards(std::span<const std::uint64_t> keys, Count* distances) {
  count_with_holes(
      state_, keys.size(), distances, table_.size(),
      [&](std::size_t begin, std::span<const std::uint32_t> codes, std::uint32_t* before) {
        table_.exchange(keys.subspan(begin, codes.size()), codes, codes.front(), before);
      },
      [&] { with_isa([&]<Isa kIsa>() { move_key_values<kIsa>(table_, state_.axis); }); });
}

void ExactDistances::discard(std::uint64_t key) {
  std::uint32_t last;
  table_.find({&key, 1}, {&last, 1});
  const std::uint32_t next = hole_of(last, state_.holes);
  if (next != last) table_.exchange({&key, 1}, {&next, 1}, next, &last);
}

absl::Status too_many_blocks(Count most) {
  return absl::ResourceExhaustedError(fmt::format(
      "the stream touches more than {} distinct blocks, the most whose distances can be told; "
      "sample it, or use a larger block size",
      most));
}

DenseDistances::DenseDistances(std::size_t blocks, int bin_bits) : last_(blocks), state_(bin_bits) {
  assert(blocks <= std::size_t{DistanceOptions::kMaxBlocks});
}

DenseDistances::DenseDistances(std::size_t blocks, std::span<const std::uint32_t> stack)
    : DenseDistances(blocks) {
  assert(stack.size() <= blocks);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    last_.data()[stack[i]] = LiveSlots::code_of(static_cast<std::uint32_t>(i) + 1);
  }
  state_.axis.live += stack.size();
  state_.axis.reset_for_blocks(0);
}

void DenseDistances::process(std::span<const std::uint32_t> blocks) { count(blocks, nullptr); }

void DenseDistances::process(std::span<const std::uint32_t> blocks, std::span<Count> distances) {
  assert(distances.size() == blocks.size());
  count(blocks, distances.data());
}

void DenseDistances::count(std::span<const std::uint32_t> blocks, Count* distances) {
  const std::span<std::uint32_t> last(last_.data(), last_.size());
  if (!state_.holes.in_use) {
    with_isa([&]<Isa kIsa>() { count_block_distances<kIsa>(last, state_, blocks, distances); });
    return;
  }
  count_with_holes(
      state_, blocks.size(), distances, last.size(),
      [&](std::size_t begin, std::span<const std::uint32_t> codes, std::uint32_t* before) {
        for (std::size_t i = 0; i < codes.size(); ++i) {
          before[i] = std::exchange(last[blocks[begin + i]], codes[i]);
        }
      },
      [&] { with_isa([&]<Isa kIsa>() { move_codes<kIsa>(last, state_.axis); }); });
}

Count DenseDistances::discard(std::uint32_t block) {
  std::uint32_t& last = last_.data()[block];
  const std::uint32_t before = std::exchange(last, hole_of(last, state_.holes));
  if (last == before) return kCold;
  return with_isa([&]<Isa kIsa>() { return depth_of<kIsa>(state_, before); });
}

std::vector<std::uint32_t> DenseDistances::stack() const {
  // Slots are numbered by the live slots before them; the first one has no access.
  std::vector<std::uint32_t> codes(last_.data(), last_.data() + last_.size());
  std::vector<std::uint32_t> holes = state_.holes.codes;
  with_isa([&]<Isa kIsa>() {
    move_codes<kIsa>(codes, state_.axis);
    move_codes<kIsa>(holes, state_.axis);
  });
  std::vector<std::uint32_t> stack(state_.axis.distinct());
  for (std::uint32_t block = 0; block < codes.size(); ++block) {
    if (codes[block] == 0 || codes[block] == StackHoles::kDiscarded) continue;
    stack[LiveSlots::slot_of(codes[block]) - 1] = block;
  }
  for (const std::uint32_t code : holes) stack[LiveSlots::slot_of(code) - 1] = kHole;
  return stack;
}

std::size_t DenseDistances::max_bytes(std::size_t blocks) {
  const std::size_t slots =
      std::max(TimeAxis::kSlotsPerBlock * (blocks + 1), TimeAxis::kFewestSlots);
  // A last access and a count for each distance; the current axis and the one that it replaced.
  return 2 * blocks * sizeof(std::uint32_t) + 2 * LiveSlots(slots).bytes();
}

void DenseDistances::clear_counts() {
  state_.bins.clear();
  state_.cold = 0;
}

}  // namespace mcsim
