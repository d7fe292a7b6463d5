#pragma once

#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A doubly linked list of blocks, found by id: the links are two arrays indexed
// by block. 8 bytes per block of the universe.
class DenseList {
 public:
  explicit DenseList(std::size_t universe)
      : next_(universe + 1, kNoBlock), previous_(universe + 1, kNoBlock) {
    next_[universe] = previous_[universe] = root();
  }

  bool contains(BlockId id) const { return next_[id] != kNoBlock; }
  Count size() const { return size_; }
  BlockId front() const { return next_[root()]; }

  void push_back(BlockId id) {
    const BlockId last = previous_[root()];
    next_[last] = id;
    previous_[id] = last;
    next_[id] = root();
    previous_[root()] = id;
    ++size_;
  }

  void erase(BlockId id) {
    next_[previous_[id]] = next_[id];
    previous_[next_[id]] = previous_[id];
    next_[id] = previous_[id] = kNoBlock;
    --size_;
  }

  BlockId pop_front() {
    const BlockId id = front();
    erase(id);
    return id;
  }

 private:
  // The root closes the ring: before the first, after the last.
  BlockId root() const { return static_cast<BlockId>(next_.size() - 1); }

  std::vector<BlockId> next_;  // kNoBlock: not in the list
  std::vector<BlockId> previous_;
  Count size_ = 0;
};

}  // namespace mcsim
