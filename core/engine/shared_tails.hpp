#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/types.hpp"
#include "core/engine/block_owners.hpp"

namespace mcsim {

// Where each VM's tails end in a log that all VMs share: of its entries that are no holes, so many
// are below that; of all of them, or of each stretch of the log. From an entry of a VM leads a way
// to its next one, so that to move an end up by one passes over no other VM's:
//
//     a . b a c b . b a c      a's entries, one after the other: 0, 3, 8
//
// Which of them are holes cannot be foreseen, so that the way is gone for some moves at once: a few
// blocks beyond the end are known, until one of them is accessed.
//
// 4 bytes an entry, which are written when the next one comes, and read about once for each tail.
//
// `kTails`: of each VM, one of all its blocks or one of each stretch.
template <class Log>
class SharedTails {
 public:
  using Stack = typename Log::Stack;
  using Position = typename Log::Position;

  SharedTails() = default;
  // Of a log that has no entries yet.
  SharedTails(const Stack& stack, std::size_t vms, std::size_t tails)
      : next_(std::size_t{stack.stop} + vms), last_(vms), tails_(tails * vms) {
    restart(stack);
    for (std::size_t t = 0; t < tails; ++t) begin(t, tails, stack.begin);
  }

  // The VM has the last entry of the log.
  [[gnu::always_inline]] void appended(VmId vm, Position at) {
    next_[std::exchange(last_[vm], at)] = at;
  }
  // Whether the VM had what was there in that tail; it is a hole by now.
  template <std::size_t kTails>
  [[gnu::always_inline]] bool had(std::size_t tail, VmId vm, Position was) {
    Tail* const own = &tails_[kTails * vm];
    for (std::size_t t = 0; t < kTails; ++t) {
      if (was >= own[t].end && was <= own[t].known_to) [[unlikely]]
        own[t].forget();
    }
    return was < own[tail].end;
  }
  // It ends after the first of the VM's blocks beyond; there is one.
  template <std::size_t kTails>
  [[gnu::always_inline]] void grow(std::size_t tail, VmId vm, const Log& log) {
    Tail& of = tails_[kTails * vm + tail];
    if (of.used == of.known) [[unlikely]]
      look_beyond(of, last_[vm], log);
    of.in_tail = of.beyond[of.used++];
    of.end = of.in_tail + 1;
  }
  // The log has other entries now, and no holes. `begins`: of the stretches, the youngest first;
  // each ends where the one before it begins. `length_of`: of a tail of a VM.
  template <std::size_t kTails, class LengthOf>
  void squeezed(const Stack& stack, std::span<const Position, kTails> begins, const Log& log,
                const BlockOwners& owners, LengthOf length_of) {
    restart(stack);
    Position at = stack.begin;
    for (std::size_t t = kTails; t-- > 0;) {
      begin(t, kTails, begins[t]);
      const Position end = t == 0 ? stack.end : begins[t - 1];
      for (; at < end; ++at) appended(owners.vm_of(log.at(at)), at);
    }
    for (std::size_t t = 0; t < kTails; ++t) {
      for (std::size_t vm = 0; vm < last_.size(); ++vm) {
        for (Count length = length_of(t, VmId(vm)); length > 0; --length) {
          grow<kTails>(t, VmId(vm), log);
        }
      }
    }
  }

 private:
  struct alignas(64) Tail {
    Position end = 0;
    Position in_tail = 0;  // the last of the tail; or the VM's last below, or before all
    Position known_to = 0;
    std::uint16_t known = 0;
    std::uint16_t used = 0;
    std::array<Position, 12> beyond{};  // blocks beyond the end, of which some are in the tail now

    void forget() { known_to = known = used = 0; }
  };

  void restart(const Stack& stack) {
    for (std::size_t vm = 0; vm < last_.size(); ++vm) {
      last_[vm] = stack.stop + static_cast<Position>(vm);
    }
  }
  // The VMs' last entries are below the stretch, whose tail is one of so many.
  void begin(std::size_t tail, std::size_t tails, Position begin) {
    for (std::size_t vm = 0; vm < last_.size(); ++vm) {
      tails_[tails * vm + tail] = {.end = begin, .in_tail = last_[vm]};
    }
  }
  void look_beyond(Tail& of, Position last, const Log& log) {
    std::size_t known = 0;
    for (Position at = of.in_tail; known < of.beyond.size() && at != last;) {
      at = next_[at];
      of.beyond[known] = at;
      known += log.is_hole(at) ? 0 : 1;
    }
    of.known = static_cast<std::uint16_t>(known);
    of.used = 0;
    of.known_to = of.beyond[known - 1];
  }

  Pages<Position> next_;        // by entry: the VM's next one
  std::vector<Position> last_;  // by VM: its last entry; or what stands before the first
  std::vector<Tail> tails_;     // by VM, then stretch
};

}  // namespace mcsim
