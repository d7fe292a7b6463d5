#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/directory.hpp"
#include "core/containers/recency_log.hpp"
#include "core/containers/recency_log_state.hpp"

namespace mcsim {

// LRU caches, one for each part of a tier, in the logs of RecencyLog. They behave like caches under
// the policy `lru`, without virtual calls and linked lists. The tier's column of a table stores
// each block's log position, so that the entries of all tiers for a block are adjacent.
//
// O(1) an access, amortised.
class PartitionedLru {
 public:
  using Log = RecencyLog<1, TableColumn>;

  // `most`: by part, the most blocks it can hold; `entries(most)` must be less than 2^32.
  PartitionedLru(TableColumn column, std::span<const std::uint64_t> most)
      : PartitionedLru(std::move(column), Log::stacks(most)) {}
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  bool holds(const auto& block) const { return log_.contains(block); }
  Count size(std::size_t part) const { return parts_[part].size; }
  Count capacity(std::size_t part) const { return parts_[part].capacity; }

  // Serve an access if the block is held; otherwise return false.
  [[gnu::always_inline]] bool touch(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    log_.move_up(parts_[part].stack, block);
    return true;
  }
  // Insert a block that is not held into a part whose capacity is not 0. Return the victim, or
  // kNoBlock. `next`, if given, is set to a block that may be the next victim.
  [[gnu::always_inline]] BlockId insert(std::size_t part, const auto& block,
                                        BlockId* next = nullptr) {
    Part& own = parts_[part];
    assert(!holds(block) && own.capacity > 0);
    if (own.size == own.capacity) return replace(part, block, next);
    ++own.size;
    log_.move_up(own.stack, block);
    return kNoBlock;
  }
  // The same for a part that is full and not empty.
  [[gnu::always_inline]] BlockId replace(std::size_t part, const auto& block, BlockId* next) {
    Part& own = parts_[part];
    assert(own.size > 0);
    const BlockId victim = log_.demote(own.stack, 0, next);
    log_.move_up(own.stack, block);
    return victim;
  }
  // Evict the least recently used block of a part and reduce its capacity to its size.
  [[gnu::always_inline]] BlockId evict(std::size_t part, BlockId* next) {
    Part& own = parts_[part];
    assert(own.size > 0);
    own.capacity = --own.size;
    return log_.demote(own.stack, 0, next);
  }
  // Insert a block, and raise the capacity if the part is full.
  [[gnu::always_inline]] void grow(std::size_t part, const auto& block) {
    Part& own = parts_[part];
    assert(!holds(block));
    own.capacity = std::max(own.capacity, ++own.size);
    log_.move_up(own.stack, block);
  }
  // Remove a block that is not a victim; return false if it was not held.
  [[gnu::always_inline]] bool take(std::size_t part, const auto& block) {
    if (!holds(block)) return false;
    Part& own = parts_[part];
    --own.size;
    log_.remove(own.stack, block);
    return true;
  }
  void resize(std::size_t part, Count capacity, std::vector<BlockId>& victims) {
    Part& own = parts_[part];
    own.capacity = capacity;
    for (; own.size > capacity; --own.size) victims.push_back(log_.demote(own.stack, 0));
  }

  // A block that may soon be a victim of the part.
  BlockId peek_victim(std::size_t part) const { return log_.peek_victim(parts_[part].stack, 0); }
  std::size_t bytes() const { return bytes_; }

  void save(ArchiveWriter& to) {
    for (Part& part : parts_) {
      to(part.capacity);
      save_stack(log_, part.stack, to);
    }
  }
  void load(ArchiveReader& from) {
    for (Part& part : parts_) {
      from(part.capacity);
      load_stack(log_, part.stack, from);
      log_.for_each(part.stack, [&](std::size_t, BlockId) { ++part.size; });
    }
  }

  absl::Status check() const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const auto& [stack, size, capacity] = parts_[part];
      Count found = 0;
      log_.for_each(stack, [&](std::size_t, BlockId) { ++found; });
      if (!log_.consistent(stack)) {
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
    Log::Stack stack;
    Count size = 0;
    Count capacity = 0;
  };

  PartitionedLru(TableColumn column, const std::vector<Log::Stack>& stacks)
      : bytes_(column.bytes()), log_(std::move(column), stacks) {
    for (const Log::Stack& stack : stacks) {
      parts_.push_back({.stack = stack});
      bytes_ += (stack.stop - stack.begin) * sizeof(BlockId);
    }
  }

  std::vector<Part> parts_;
  std::size_t bytes_;
  Log log_;
};

}  // namespace mcsim
