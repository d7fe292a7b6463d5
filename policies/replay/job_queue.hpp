#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

namespace mcsim {

// A unit of work with its memory need.
struct Job {
  std::size_t bytes = 0;
  double work = 0;  // duration, in any unit
};

// A thread-safe queue of jobs with a memory limit for all running jobs. It returns the longest job
// first, so that threads end at about the same time. If that does not fit into memory now, the
// longest job that fits goes first.
class JobQueue {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // No single job may need more than `memory`.
  explicit JobQueue(std::vector<Job> jobs, std::size_t memory = kNoLimit);

  // Return the next job. Returns none if no job fits within this time, or if the queue is empty.
  std::optional<std::size_t> take(std::chrono::milliseconds wait);
  void finish(std::size_t job);
  // Remove all waiting jobs.
  void stop();
  // Return whether no job is waiting or running.
  bool over() const;

 private:
  // Return the position in `waiting_` of the first job that fits.
  std::size_t first_that_fits() const;

  std::vector<Job> jobs_;
  std::vector<std::size_t> waiting_;  // the longest first
  std::size_t free_;
  std::size_t at_work_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
};

}  // namespace mcsim
