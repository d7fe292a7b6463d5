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
#include "core/containers/recency_log.hpp"

namespace mcsim {

// LRU caches, one for each part of a tier, in the logs of RecencyLog: what a tier else has a
// cache under the policy `lru` for, without a virtual call and without links to follow. Where a
// block is in its log is in the tier's column of a table: what tiers know of a block lies together.
//
// A block may be told by its entry there.
//
// O(1) an access, amortised; what RecencyLog takes for the blocks that parts can hold.
class LruParts {
 public:
  // `most`: by part, the blocks that it can come to hold; `entries(most)` is less than 2^32.
  LruParts(TableColumn column, std::span<const std::uint64_t> most)
      : LruParts(std::move(column), Log::stacks(most)) {}
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  // While nothing is held: in another column.
  void keep_in(TableColumn column) { log_.keep_in(std::move(column)); }

  bool holds(const auto& block) const { return log_.contains(block); }
  Count size(std::size_t part) const { return parts_[part].size; }
  Count capacity(std::size_t part) const { return parts_[part].capacity; }

  // An access if the block is held; else false.
  [[gnu::always_inline]] bool touch(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    log_.access(parts_[part].stack, block);
    return true;
  }
  // A block that is not held comes in; there is a capacity. The victim, or kNoBlock; and, if
  // wanted, one that may soon follow.
  [[gnu::always_inline]] BlockId insert(std::size_t part, const auto& block,
                                        BlockId* next = nullptr) {
    Part& own = parts_[part];
    BlockId victim = kNoBlock;
    if (own.size == own.capacity) {
      victim = log_.demote(own.stack, 0, next);
    } else {
      ++own.size;
    }
    log_.access(own.stack, block);
    return victim;
  }
  // The same where capacities follow from what is held: of a part that holds blocks,
  [[gnu::always_inline]] BlockId replace(std::size_t part, BlockId block, BlockId* next) {
    Part& own = parts_[part];
    const BlockId victim = log_.demote(own.stack, 0, next);
    log_.access(own.stack, block);
    return victim;
  }
  // or in two steps.
  [[gnu::always_inline]] BlockId evict(std::size_t part, BlockId* next) {
    Part& own = parts_[part];
    own.capacity = --own.size;
    return log_.demote(own.stack, 0, next);
  }
  [[gnu::always_inline]] void grow(std::size_t part, BlockId block) {
    Part& own = parts_[part];
    own.capacity = std::max(own.capacity, ++own.size);
    log_.access(own.stack, block);
  }
  // The block leaves without being a victim; false if it was not held.
  [[gnu::always_inline]] bool take(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    log_.remove(parts_[part].stack, block);
    --parts_[part].size;
    return true;
  }
  void resize(std::size_t part, Count capacity, std::vector<BlockId>& victims) {
    parts_[part].capacity = capacity;
    for (Part& own = parts_[part]; own.size > capacity; --own.size) {
      victims.push_back(log_.demote(own.stack, 0));
    }
  }

  // A block that may soon be a victim of the part.
  BlockId soon(std::size_t part) const { return log_.soon(parts_[part].stack, 0); }
  std::size_t bytes() const { return bytes_; }

  absl::Status check() const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const auto& [stack, size, capacity] = parts_[part];
      Count found = 0;
      log_.for_each(stack, [&](std::size_t, BlockId) { ++found; });
      if (!log_.consistent(stack)) return internal_error("lru: the log of part {} is torn", part);
      if (found == size && size <= capacity) continue;
      return internal_error("lru: part {} holds {} blocks of {}, counted {}", part, found, capacity,
                            size);
    }
    return absl::OkStatus();
  }

 private:
  using Log = RecencyLog<1, TableColumn>;
  struct Part {
    Log::Stack stack;
    Count size = 0;
    Count capacity = 0;
  };

  LruParts(TableColumn column, std::span<const Log::Stack> stacks)
      : log_(column, stacks), bytes_(column.bytes()) {
    for (const Log::Stack& stack : stacks) {
      parts_.push_back({.stack = stack});
      bytes_ += (stack.stop - stack.begin) * sizeof(BlockId);
    }
  }

  Log log_;
  std::vector<Part> parts_;
  std::size_t bytes_;
};

}  // namespace mcsim
