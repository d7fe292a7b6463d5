#pragma once

#include <cassert>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// A set of slots, numbered without gaps so that one can be drawn at random. When a slot is erased,
// the last one takes its number. Eight bytes a slot.
class SlotSet {
 public:
  explicit SlotSet(std::size_t slots) : members_(slots), position_of_(slots) {}

  std::size_t slots() const { return members_.size(); }
  void reserve(std::size_t slots) {
    if (slots <= members_.size()) return;
    members_.extend(slots);
    position_of_.extend(slots);
  }

  Count size() const { return static_cast<Count>(size_); }
  Slot operator[](std::size_t position) const { return members_[position]; }

  void insert(Slot slot) {
    assert(slot < slots() && size_ < slots());
    members_[size_] = slot;
    position_of_[slot] = static_cast<Slot>(size_++);
  }
  void erase(Slot slot) {
    assert(size_ > 0 && members_[position_of_[slot]] == slot);
    const Slot last = members_[--size_];
    members_[position_of_[slot]] = last;
    position_of_[last] = position_of_[slot];
  }

  auto state() { return std::tie(members_, position_of_, size_); }
  std::size_t bytes() const { return 2 * members_.size() * sizeof(Slot); }

  absl::Status check() const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (position_of_[members_[i]] != i) {
        return internal_error("set: member {} has the position of {}", i,
                              position_of_[members_[i]]);
      }
    }
    return absl::OkStatus();
  }

 private:
  Pages<Slot> members_;
  Pages<Slot> position_of_;
  std::size_t size_ = 0;
};

}  // namespace mcsim
