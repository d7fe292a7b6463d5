#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

namespace mcsim {

// Something to do that takes memory while it is done.
struct Job {
  std::size_t bytes = 0;
  double work = 0;  // how long it takes, in any unit
};

// Hands out jobs, the longest first, so that threads end together; no more at a time
// than fit in memory together. Of those that do not fit now a shorter one goes first.
// Any number of threads may call it.
class JobQueue {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // No job may need more than `memory` by itself.
  explicit JobQueue(std::vector<Job> jobs, std::size_t memory = kNoLimit);

  // The next job; none if nothing fits even after such a wait, or nothing is left.
  std::optional<std::size_t> take(std::chrono::milliseconds wait);
  void finish(std::size_t job);
  // Hands out no more.
  void stop();
  // Whether all is done that will be.
  bool over() const;

 private:
  // Where in `waiting_` the first one is that fits.
  std::size_t first_that_fits() const;

  std::vector<Job> jobs_;
  std::vector<std::size_t> waiting_;  // the longest first
  std::size_t free_;
  std::size_t at_work_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
};

}  // namespace mcsim
