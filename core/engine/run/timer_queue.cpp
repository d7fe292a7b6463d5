#include "core/engine/run/timer_queue.hpp"

#include <utility>

namespace mcsim {

TimerQueue::TimerQueue(const Accesses& trace, std::span<const Timer> timers) {
  if (trace.request_count() == 0) return;
  begin_ = trace.request_time.front();
  for (const Timer& timer : timers) {
    Pending& added = pending_.emplace_back();
    added.at = pieces(trace.request_time, timer.clock.period, timer.clock.drifting);
    // No decision is taken at the end of the trace.
    added.at.pop_back();
    if (timer.at_start) added.at.insert(added.at.begin(), Piece{.cut = 0, .end = begin_});
  }
}

std::size_t TimerQueue::pop() {
  const Pending* first = earliest();
  assert(first != nullptr);
  const auto timer = static_cast<std::size_t>(first - pending_.data());
  ++pending_[timer].fired;
  return timer;
}

const TimerQueue::Pending* TimerQueue::earliest() const {
  const auto order = [](const Pending& of) { return std::pair(of.next().cut, of.next().end); };
  const Pending* first = nullptr;
  for (const Pending& timer : pending_) {
    if (timer.done()) continue;
    if (first == nullptr || order(timer) < order(*first)) first = &timer;
  }
  return first;
}

}  // namespace mcsim
