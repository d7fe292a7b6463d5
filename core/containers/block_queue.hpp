#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// A FIFO queue of blocks from which any block can be erased: a log of insertions and, by block, the
// position of its entry. The entry of an erased block stays in the log until front() passes it, or
// until half of the log consists of such entries.
//
// 4 bytes a block of the universe, and 8 a block in the queue.
class BlockQueue {
 public:
  explicit BlockQueue(std::size_t universe) : entry_after_(universe) {}

  Count size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool contains(BlockId block) const { return entry_after_[block] != 0; }

  // The block must not be in the queue.
  void push(BlockId block) {
    if (log_.size() >= kLeast && log_.size() >= 2 * static_cast<std::size_t>(size_)) compact();
    log_.push_back(block);
    entry_after_[block] = static_cast<std::uint32_t>(log_.size());
    ++size_;
  }
  // The block must be in the queue.
  void erase(BlockId block) {
    entry_after_[block] = 0;
    --size_;
  }
  // The block inserted first; the queue must not be empty.
  BlockId front() {
    while (!holds(front_)) ++front_;
    return log_[front_];
  }

  // Saved as the blocks in order.
  void save(ArchiveWriter& to) {
    std::vector<BlockId> blocks;
    for (std::size_t entry = front_; entry < log_.size(); ++entry) {
      if (holds(entry)) blocks.push_back(log_[entry]);
    }
    to(blocks);
  }
  void load(ArchiveReader& from) {
    for (const BlockId block : from.read_blocks()) {
      if (block >= entry_after_.size() || contains(block)) {
        return from.fail(data_loss("queue: block {} is there twice, or unknown", block));
      }
      push(block);
    }
  }

 private:
  static constexpr std::size_t kLeast = 64;

  bool holds(std::size_t entry) const { return entry_after_[log_[entry]] == entry + 1; }

  void compact() {
    std::size_t kept = 0;
    for (std::size_t entry = front_; entry < log_.size(); ++entry) {
      if (!holds(entry)) continue;
      log_[kept++] = log_[entry];
      entry_after_[log_[entry]] = static_cast<std::uint32_t>(kept);
    }
    log_.resize(kept);
    front_ = 0;
  }

  Pages<std::uint32_t> entry_after_;  // by block: its entry + 1; 0: not in the queue
  std::vector<BlockId> log_;
  std::size_t front_ = 0;  // all entries before it are erased
  Count size_ = 0;
};

}  // namespace mcsim
