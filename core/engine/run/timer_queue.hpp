#pragma once

#include <cassert>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/engine/run/system.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

namespace mcsim {

// The times at which the timers of a system fire, in order.
class TimerQueue {
 public:
  TimerQueue(const Accesses& trace, std::span<const Timer> timers);

  // The request before which the next timer fires; beyond all requests if no timer is pending.
  std::size_t request() const {
    const Pending* first = earliest();
    return first == nullptr ? std::numeric_limits<std::size_t>::max() : first->next().cut;
  }
  // The time at which it fires, since the beginning of the trace.
  Nanoseconds time() const {
    assert(earliest() != nullptr);
    return earliest()->next().end - begin_;
  }
  // Remove the next time from the queue; return its timer.
  std::size_t pop();

 private:
  struct Pending {
    std::vector<Piece> at;
    std::size_t fired = 0;
    bool done() const { return fired == at.size(); }
    const Piece& next() const { return at[fired]; }
  };

  const Pending* earliest() const;

  Nanoseconds begin_ = 0;         // of the trace
  std::vector<Pending> pending_;  // by timer
};

}  // namespace mcsim
