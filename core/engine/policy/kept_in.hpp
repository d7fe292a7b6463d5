#pragma once

#include <utility>

#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// What policies have in common that keep their blocks in one structure by slot, such as lists. One
// that remembers evicted blocks there, or keeps something beside it, has its own in place of what
// differs then.
template <class Structure>
class KeptIn {
 public:
  void remove(Slot slot, auto& cache) {
    kept_.erase(slot);
    cache.forget(slot);
  }
  bool resident(Slot) const { return true; }
  Count size() const { return kept_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return kept_.slots(); }
  void prefetch(Slot slot) const { kept_.prefetch(slot); }
  absl::Status check() const { return kept_.check(); }
  std::size_t bytes() const { return kept_.bytes(); }

 protected:
  explicit KeptIn(const PolicySetup& setup) : KeptIn(setup, setup.capacity) {}
  // With slots for so many, held and remembered.
  KeptIn(const PolicySetup& setup, Count most)
      : KeptIn(Structure(setup.slots_for(most)), setup.capacity) {}
  KeptIn(Structure kept, Count capacity) : kept_(std::move(kept)), capacity_(capacity) {}

  Structure kept_;
  Count capacity_;
};

}  // namespace mcsim
