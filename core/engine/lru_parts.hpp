#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/directory.hpp"
#include "core/containers/recency_tails.hpp"

namespace mcsim {

// LRU caches, one for each part of a tier, in the logs of RecencyTails: what a tier else has a
// cache under the policy `lru` for, without a virtual call and without links to follow. Where a
// block is in its log is in the tier's column of a table: what tiers know of a block lies together.
// Meters may ask for tails and marks, which are left out where `kAsked` says that nobody did.
//
// A block may be told by its entry there.
//
// O(1) an access, amortised; what RecencyTails takes for the blocks that parts can hold.
class LruParts {
 public:
  // `most`: by part, the blocks that it can come to hold; `entries(most)` is less than 2^32.
  LruParts(TableColumn column, std::span<const std::uint64_t> most)
      : tails_(column, most), bytes_(column.bytes()) {
    take_stacks();
    for (const Part& part : parts_) {
      bytes_ += (part.stack.log.stop - part.stack.log.begin) * sizeof(BlockId);
    }
  }
  static std::uint64_t entries(std::span<const std::uint64_t> most) {
    return RecencyTails::entries(most);
  }

  // While nothing is held: in another column; and with what meters ask.
  void keep_in(TableColumn column) { tails_.keep_in(std::move(column)); }
  bool takes_marks(std::uint64_t marks) const {
    return parts_.back().stack.log.stop + marks < kNoBlock;
  }
  void ask(Count tail, std::uint64_t marks) {
    tails_.ask(tail, marks);
    take_stacks();
  }

  bool holds(const auto& block) const { return tails_.has(block); }
  Count size(std::size_t part) const { return parts_[part].size; }
  Count capacity(std::size_t part) const { return parts_[part].capacity; }

  // An access if the block is held; else false.
  template <bool kAsked = true>
  [[gnu::always_inline]] bool touch(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    Part& own = parts_[part];
    const bool was_in_tail = tails_.use<kAsked>(own.stack, block, own.size);
    if (kAsked) was_in_tail_ = was_in_tail;
    return true;
  }
  // A block that is not held comes in; there is a capacity. The victim, or kNoBlock; and, if
  // wanted, one that may soon follow.
  template <bool kAsked = true>
  [[gnu::always_inline]] BlockId insert(std::size_t part, const auto& block,
                                        BlockId* next = nullptr) {
    Part& own = parts_[part];
    if (own.size == own.capacity) return replace<kAsked>(part, block, next);
    tails_.add<kAsked>(own.stack, block, ++own.size);
    return kNoBlock;
  }
  // The same where capacities follow from what is held: of a part that holds blocks,
  template <bool kAsked = true>
  [[gnu::always_inline]] BlockId replace(std::size_t part, const auto& block, BlockId* next) {
    Part& own = parts_[part];
    const BlockId victim = tails_.demote<kAsked>(own.stack, own.size - 1, next);
    tails_.add<kAsked>(own.stack, block, own.size);
    return victim;
  }
  // or in two steps.
  template <bool kAsked = true>
  [[gnu::always_inline]] BlockId evict(std::size_t part, BlockId* next) {
    Part& own = parts_[part];
    own.capacity = --own.size;
    return tails_.demote<kAsked>(own.stack, own.size, next);
  }
  template <bool kAsked = true>
  [[gnu::always_inline]] void grow(std::size_t part, const auto& block) {
    Part& own = parts_[part];
    own.capacity = std::max(own.capacity, ++own.size);
    tails_.add<kAsked>(own.stack, block, own.size);
  }
  // The block leaves without being a victim; false if it was not held.
  [[gnu::always_inline]] bool take(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    Part& own = parts_[part];
    was_in_tail_ = tails_.remove(own.stack, block, --own.size);
    return true;
  }
  void resize(std::size_t part, Count capacity, std::vector<BlockId>& victims) {
    Part& own = parts_[part];
    own.capacity = capacity;
    while (own.size > capacity) victims.push_back(tails_.demote(own.stack, --own.size));
  }

  // A block that may soon be a victim of the part.
  BlockId soon(std::size_t part) const { return tails_.soon(parts_[part].stack); }
  std::size_t bytes() const { return bytes_; }

  // For meters: whether what was accessed, taken or looked at last was in the tail of its part;
  // marks; and how many blocks of a part were accessed, or came in, since the window began.
  bool was_in_tail() const { return was_in_tail_; }
  void look(std::size_t part, const auto& block) {
    was_in_tail_ = tails_.in_tail(parts_[part].stack, block);
  }
  RecencyTails::Log& log() { return tails_.log(); }
  Count used(std::size_t part) const { return tails_.used(parts_[part].stack); }
  void begin_window() {
    for (Part& part : parts_) RecencyTails::begin_window(part.stack);
  }

  absl::Status check() const {
    const RecencyTails::Log& log = tails_.log();
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const auto& [stack, size, capacity] = parts_[part];
      Count found = 0;
      log.for_each(stack.log, [&](std::size_t, BlockId) { ++found; });
      if (!log.consistent(stack.log)) {
        return internal_error("lru: the log of part {} is torn", part);
      }
      if (found == size && size <= capacity) continue;
      return internal_error("lru: part {} holds {} blocks of {}, counted {}", part, found, capacity,
                            size);
    }
    return absl::OkStatus();
  }

 private:
  struct Part {
    RecencyTails::Stack stack;
    Count size = 0;
    Count capacity = 0;
  };

  void take_stacks() {
    const std::vector<RecencyTails::Stack> stacks = tails_.stacks();
    parts_.resize(stacks.size());
    for (std::size_t part = 0; part < parts_.size(); ++part) parts_[part].stack = stacks[part];
  }

  RecencyTails tails_;
  std::vector<Part> parts_;
  std::size_t bytes_;
  bool was_in_tail_ = false;
};

}  // namespace mcsim
