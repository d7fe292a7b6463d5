#pragma once

#include <string_view>

#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// The base of caches that get their victims from a callback which may fail. It has a directory of
// blocks, a capacity that cannot exceed that of the setup, and the first error.
class CallbackCache : public TierCache {
 public:
  using TierCache::resize;
  absl::Status failure() const override { return failure_; }
  bool contains(BlockId block) const override { return directory_.find(block) != kNoSlot; }
  Count size() const override { return static_cast<Count>(directory_.size()); }
  Count capacity() const override { return capacity_; }
  bool needs_next_use() const override { return false; }

 protected:
  explicit CallbackCache(const PolicySetup& setup)
      : setup_(setup), capacity_(setup.capacity), directory_(index_for(setup), slots()) {}

  // Number of slots for resident blocks.
  std::size_t slots() const { return setup_.slots_for(setup_.capacity); }

  // Set the capacity. Above that of the setup, return false and store an error with the callback's
  // name.
  bool set_capacity(Count capacity, std::string_view callback) {
    if (capacity > setup_.capacity) {
      failure_ =
          absl::UnimplementedError(fmt::format("{}: the cache cannot grow above {} blocks, got {}",
                                               callback, setup_.capacity, capacity));
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
