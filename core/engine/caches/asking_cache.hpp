#pragma once

#include <string_view>

#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// What caches have in common that ask somebody else, who may fail, which block is to leave:
// blocks found in a directory, a capacity that cannot grow above that of the setup, and what
// went wrong first.
class AskingCache : public TierCache {
 public:
  using TierCache::resize;
  absl::Status failure() const override { return failure_; }
  bool contains(BlockId block) const override { return directory_.find(block) != kNoSlot; }
  Count size() const override { return static_cast<Count>(directory_.size()); }
  Count capacity() const override { return capacity_; }
  bool needs_next_use() const override { return false; }

 protected:
  explicit AskingCache(const PolicySetup& setup)
      : setup_(setup), capacity_(setup.capacity), directory_(index_for(setup), slots()) {}

  // Slots that there are, for blocks held.
  std::size_t slots() const { return setup_.slots_for(setup_.capacity); }

  // False, and a failure of whom it asks, if the cache was not made for so many blocks.
  bool set_capacity(Count capacity, std::string_view asked) {
    if (capacity > setup_.capacity) {
      failure_ = absl::UnimplementedError(fmt::format(
          "{}: the cache was made for {} blocks, not {}", asked, setup_.capacity, capacity));
      return false;
    }
    capacity_ = capacity;
    return true;
  }

  PolicySetup setup_;
  Count capacity_;
  Directory<DenseIndex> directory_;
  absl::Status failure_;
};

}  // namespace mcsim
