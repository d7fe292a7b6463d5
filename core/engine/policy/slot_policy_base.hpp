#pragma once

#include <utility>

#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// The base class of policies with a single structure indexed by slot, such as lists. A policy with
// ghosts in that structure, or with other structures, redefines the members that differ.
template <class Structure>
class SlotPolicyBase {
 public:
  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot);
    cache.forget(slot);
  }
  bool resident(Slot) const { return true; }
  Count size() const { return blocks_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return blocks_.slots(); }
  void prefetch(Slot slot) const { blocks_.prefetch(slot); }
  absl::Status check() const { return blocks_.check(); }
  std::size_t bytes() const { return blocks_.bytes(); }

 protected:
  explicit SlotPolicyBase(const PolicySetup& setup) : SlotPolicyBase(setup, setup.capacity) {}
  // `most`: number of slots for blocks and ghosts together.
  SlotPolicyBase(const PolicySetup& setup, Count most)
      : SlotPolicyBase(Structure(setup.slots_for(most)), setup.capacity) {}
  SlotPolicyBase(Structure blocks, Count capacity)
      : blocks_(std::move(blocks)), capacity_(capacity) {}

  Structure blocks_;
  Count capacity_;
};

}  // namespace mcsim
