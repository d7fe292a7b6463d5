#include "core/locality/distances/exact_distances.hpp"

#include <algorithm>
#include <cassert>

namespace mcsim {

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
  if (counted) {
    counted = with_isa([&]<Isa kIsa>() {
      return count_key_distances<kIsa>(table_, state_, keys, distances, options_.max_blocks);
    });
  }
  return counted ? absl::OkStatus() : too_many_blocks(options_.max_blocks);
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
  state_.axis.begin_again(0);
}

void DenseDistances::process(std::span<const std::uint32_t> blocks) {
  with_isa([&]<Isa kIsa>() {
    count_block_distances<kIsa>({last_.data(), last_.size()}, state_, blocks, nullptr);
  });
}

void DenseDistances::process(std::span<const std::uint32_t> blocks, std::span<Count> distances) {
  assert(distances.size() == blocks.size());
  with_isa([&]<Isa kIsa>() {
    count_block_distances<kIsa>({last_.data(), last_.size()}, state_, blocks, distances.data());
  });
}

std::size_t DenseDistances::most_bytes(std::size_t blocks) {
  const std::size_t slots =
      std::max(TimeAxis::kSlotsPerBlock * (blocks + 1), TimeAxis::kFewestSlots);
  // A last access and a count of each distance; the axis, and the one that it outgrew.
  return 2 * blocks * sizeof(std::uint32_t) + 2 * LiveSlots(slots).bytes();
}

void DenseDistances::clear_counts() {
  state_.bins.clear();
  state_.cold = 0;
}

}  // namespace mcsim
