#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/base/types.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

// The LRU stack of the accesses since a moment at which it was empty: the top of the stack of all
// accesses, whose distances it takes. With discards both stacks have holes (StackHoles), the same
// ones in this part, and its depth is the most blocks that it ever had.
class RecentStack {
 public:
  // Adds an access. Returns whether it is the first one to its block since the moment, or since a
  // discard after it.
  bool add(Count distance) {
    const bool fresh = is_new(distance, depth_);
    blocks_ += fresh ? 1 : 0;
    depth_ = std::max(depth_, blocks_);
    return fresh;
  }
  // Adds accesses in order, and calls visit(i, fresh) for each.
  template <class Visit>
  void add_all(std::span<const Count> distances, Visit visit) {
    if (blocks_ < depth_) {
      for (std::size_t i = 0; i < distances.size(); ++i) visit(i, add(distances[i]));
      return;
    }
    // Without holes, which only remove() makes, one number suffices.
    Count depth = depth_;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const bool fresh = is_new(distances[i], depth);
      visit(i, fresh);
      depth += fresh ? 1 : 0;
    }
    blocks_ = depth_ = depth;
  }
  // Removes a discarded block, which was at this depth in the stack of all accesses. Returns
  // whether this stack had it.
  bool remove(Count depth) {
    const bool had = !is_new(depth, depth_);
    blocks_ -= had ? 1 : 0;
    return had;
  }

  // Blocks accessed since the moment and not discarded since then.
  Count blocks() const { return blocks_; }
  // Blocks and holes: all distances of later accesses are below it.
  Count depth() const { return depth_; }

 private:
  Count blocks_ = 0;
  Count depth_ = 0;
};

}  // namespace mcsim
