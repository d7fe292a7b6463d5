#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/pages.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

// The space that blocks take in a cache.
namespace mcsim {

// Every block takes 1.
struct EqualWeights {
  static constexpr bool kVary = false;

  explicit EqualWeights(std::size_t) {}

  bool leave_no_room(Count size, Count capacity) const { return size == capacity; }
  Count next() const { return 1; }
  Count of(Slot) const { return 1; }
  void enter(Slot) {}
  void leave(Slot) {}
  void reserve(std::size_t) {}
  std::size_t bytes() const { return 0; }
};

// Every object takes its bytes, as the last access stated them. They replace the former bytes even
// if the cache has no room for the difference: room is made when another object enters.
//
// Four bytes per slot.
class ByteWeights {
 public:
  static constexpr bool kVary = true;

  explicit ByteWeights(std::size_t slots) : of_slot_(slots) {}

  // The bytes of the object of the next access.
  void set_next(Count bytes) { next_ = bytes; }
  Count next() const { return next_; }
  bool leave_no_room(Count, Count capacity) const { return used_ + next_ > capacity; }

  Count of(Slot slot) const { return of_slot_[slot]; }
  void enter(Slot slot) {
    of_slot_[slot] = static_cast<std::uint32_t>(next_);
    used_ += next_;
  }
  void leave(Slot slot) { used_ -= of_slot_[slot]; }
  // Change the bytes of a resident object to those of the next access; return the difference.
  Count renew(Slot slot) {
    const Count before = of(slot);
    leave(slot);
    enter(slot);
    return next_ - before;
  }

  // Bytes of all resident objects.
  Count used() const { return used_; }
  void reserve(std::size_t slots) {
    if (slots > of_slot_.size()) of_slot_.extend(slots);
  }
  std::size_t bytes() const { return of_slot_.size() * sizeof(std::uint32_t); }

 private:
  Pages<std::uint32_t> of_slot_;  // also of ghosts
  Count used_ = 0;
  Count next_ = 0;
};

}  // namespace mcsim
