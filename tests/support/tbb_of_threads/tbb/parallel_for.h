#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "helpers.h"
#include "task_arena.h"

namespace tbb {

struct simple_partitioner {};

template <class Value>
class blocked_range {
 public:
  blocked_range(Value begin, Value end, std::size_t grain = 1)
      : begin_(begin), end_(end), grain_(grain) {}
  Value begin() const { return begin_; }
  Value end() const { return end_; }
  std::size_t grainsize() const { return grain_; }

 private:
  Value begin_;
  Value end_;
  std::size_t grain_;
};

// With more threads than these no other race shows, and handing them work takes long.
inline constexpr std::size_t kMostThreads = 3;

// As TBB does: the first exception is thrown once all threads are done with what they
// had begun, and none begins another.
template <class Index, class Body>
void parallel_for(Index begin, Index end, const Body& body, simple_partitioner = {}) {
  if (!(begin < end)) return;
  std::atomic<Index> next = begin;
  std::mutex mutex;
  std::exception_ptr failure;
  // Relaxed: taking turns must not order what the bodies do, or races between them would hide.
  const auto take = [&] { return next.fetch_add(1, std::memory_order_relaxed); };
  const auto work = [&] {
    for (Index i = take(); i < end; i = take()) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next.store(end, std::memory_order_relaxed);
      }
    }
  };
  const auto tasks = static_cast<std::size_t>(end - begin);
  const int arena = detail_of_threads::threads > 0 ? detail_of_threads::threads : 2;
  const std::size_t threads = std::min({tasks, static_cast<std::size_t>(arena), kMostThreads});
  detail_of_threads::Helpers& all = detail_of_threads::Helpers::all();
  auto helpers = all.take(threads - 1);
  for (const std::unique_ptr<detail_of_threads::Helper>& helper : helpers) {
    helper->begin(std::ref(work));
  }
  work();
  for (const std::unique_ptr<detail_of_threads::Helper>& helper : helpers) helper->wait();
  all.give_back(std::move(helpers));
  if (failure) std::rethrow_exception(failure);
}

template <class Value, class Body>
void parallel_for(const blocked_range<Value>& range, const Body& body, simple_partitioner = {}) {
  const auto grain = static_cast<Value>(range.grainsize());
  const Value pieces = (range.end() - range.begin() + grain - 1) / grain;
  parallel_for(Value{0}, pieces, [&](Value piece) {
    const Value first = range.begin() + piece * grain;
    body(blocked_range<Value>(first, std::min<Value>(first + grain, range.end()),
                              range.grainsize()));
  });
}

}  // namespace tbb
