#include "policies/replay/job_queue.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mcsim {

JobQueue::JobQueue(std::vector<Job> jobs, std::size_t memory)
    : jobs_(std::move(jobs)), waiting_(jobs_.size()), free_(memory) {
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  std::ranges::stable_sort(waiting_, std::greater<>(),
                           [&](std::size_t job) { return jobs_[job].work; });
}

std::optional<std::size_t> JobQueue::take(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto something = [&] { return waiting_.empty() || first_that_fits() < waiting_.size(); };
  if (!waiting_.empty()) {
    finished_.wait_for(lock, wait, something);
  } else {
    finished_.wait_for(lock, wait, [&] { return at_work_ == 0; });
  }
  const std::size_t at = first_that_fits();
  if (at == waiting_.size()) return std::nullopt;
  const std::size_t job = waiting_[at];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  free_ -= jobs_[job].bytes;
  ++at_work_;
  return job;
}

void JobQueue::finish(std::size_t job) {
  {
    const std::lock_guard lock(mutex_);
    free_ += jobs_[job].bytes;
    --at_work_;
  }
  finished_.notify_all();
}

void JobQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  finished_.notify_all();
}

bool JobQueue::over() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && at_work_ == 0;
}

std::size_t JobQueue::first_that_fits() const {
  const auto fits = [&](std::size_t job) { return jobs_[job].bytes <= free_; };
  return static_cast<std::size_t>(std::ranges::find_if(waiting_, fits) - waiting_.begin());
}

}  // namespace mcsim
