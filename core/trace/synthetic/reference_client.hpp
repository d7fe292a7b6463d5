#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/key_index.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/trace/synthetic/synthetic.hpp"

namespace mcsim {

// Computes a client's response times: accesses the blocks of its requests in its own LRU cache. 44
// to 76 bytes for each block of allocated space, which grows with the number of cached blocks.
class ReferenceClient {
 public:
  explicit ReferenceClient(const SyntheticClient& client) : client_(client), recency_(0) {}

  // Returns the response time of the next request.
  Nanoseconds respond(Op op, std::uint32_t first_block, std::uint32_t blocks) {
    bool all_held = true;
    for (std::uint32_t i = 0; i < blocks; ++i) all_held &= use(first_block + i);
    if (op == Op::kWrite) return client_.write;
    return all_held ? client_.hit : client_.miss;
  }

 private:
  // Returns whether the block was cached, and makes it the most recent one.
  bool use(std::uint32_t block) {
    if (block_of_.empty()) grow();
    const Slot found = index_.find(block);
    if (found != kNoSlot) {
      recency_.move_to_front(found);
      return true;
    }
    const Slot slot = free_slot();
    block_of_[slot] = block;
    index_.set(block, slot);
    recency_.push_front(slot);
    return false;
  }

  Slot free_slot() {
    const auto held = static_cast<std::size_t>(recency_.size());
    if (held == static_cast<std::size_t>(client_.cache_blocks)) {
      const Slot last = recency_.pop_back();
      index_.erase(block_of_[last]);
      return last;
    }
    if (held == block_of_.size()) grow();
    return static_cast<Slot>(held);
  }

  void grow();

  SyntheticClient client_;
  KeyIndex index_;       // slots by block
  SlotLists<> recency_;  // the most recent block first
  std::vector<std::uint32_t> block_of_;
};

}  // namespace mcsim
