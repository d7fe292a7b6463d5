#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/types.hpp"
#include "core/engine/block_owners.hpp"

namespace mcsim {

// Where each VM's tail ends in a log that all VMs share: of its entries that are no holes, so many
// are below that. From an entry of a VM leads a way to its next one, so that to move the end up by
// one passes over no other VM's:
//
//     a . b a c b . b a c      a's entries, one after the other: 0, 3, 8
//
// Which of them are holes cannot be foreseen, so that the way is gone for some moves at once: a few
// blocks beyond the end are known, until one of them is accessed.
//
// 4 bytes an entry, which are written when the next one comes, and read about once.
template <class Log>
class SharedTails {
 public:
  using Stack = typename Log::Stack;
  using Position = typename Log::Position;

  SharedTails() = default;
  // Of a log that has no entries yet.
  SharedTails(const Stack& stack, std::size_t vms)
      : next_(std::size_t{stack.stop} + vms), vms_(vms) {
    restart(stack);
  }

  // The VM has the last entry of the log.
  [[gnu::always_inline]] void appended(VmId vm, Position at) {
    next_[std::exchange(vms_[vm].last, at)] = at;
  }
  // Whether the VM had what was there in its tail; it is a hole by now.
  [[gnu::always_inline]] bool had(VmId vm, Position was) {
    Vm& of = vms_[vm];
    if (was < of.end) return true;
    if (was <= of.known_to) [[unlikely]]
      of.forget();
    return false;
  }
  // Its tail ends after the first of its blocks beyond; there is one.
  [[gnu::always_inline]] void grow(VmId vm, const Log& log) {
    Vm& of = vms_[vm];
    if (of.used == of.known) [[unlikely]]
      look_beyond(of, log);
    of.in_tail = of.beyond[of.used++];
    of.end = of.in_tail + 1;
  }
  // The log has other entries now, and no holes. `length_of`: of a VM's tail.
  template <class LengthOf>
  void squeezed(const Stack& stack, const Log& log, const BlockOwners& owners, LengthOf length_of) {
    restart(stack);
    for (Position at = stack.begin; at < stack.end; ++at) appended(owners.vm_of(log.at(at)), at);
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      for (Count length = length_of(VmId(vm)); length > 0; --length) grow(VmId(vm), log);
    }
  }

 private:
  struct alignas(64) Vm {
    Position end = 0;
    Position last = 0;     // of its entries; or what stands before the first
    Position in_tail = 0;  // the last of the tail; the same
    Position known_to = 0;
    std::uint16_t known = 0;
    std::uint16_t used = 0;
    std::array<Position, 11> beyond{};  // blocks beyond the end, of which some are in the tail now

    void forget() { known_to = known = used = 0; }
  };

  void restart(const Stack& stack) {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      const Position before = stack.stop + static_cast<Position>(vm);
      vms_[vm] = {.end = stack.begin, .last = before, .in_tail = before};
    }
  }
  void look_beyond(Vm& of, const Log& log) {
    std::size_t known = 0;
    for (Position at = of.in_tail; known < of.beyond.size() && at != of.last;) {
      at = next_[at];
      of.beyond[known] = at;
      known += log.is_hole(at) ? 0 : 1;
    }
    of.known = static_cast<std::uint16_t>(known);
    of.used = 0;
    of.known_to = of.beyond[known - 1];
  }

  Pages<Position> next_;  // by entry: the VM's next one
  std::vector<Vm> vms_;
};

}  // namespace mcsim
