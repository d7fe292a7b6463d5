#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tbb::detail_of_threads {

// A thread that waits for work. What it does is ordered with whoever gave it the work, by a lock
// of its own, and with no other helper: else races between helpers would hide.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    begin(nullptr);
    thread_.join();
  }

  // Nothing to do ends the thread.
  void begin(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    busy_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !busy_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return busy_; });
      const std::function<void()> work = std::move(work_);
      if (!work) return;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool busy_ = false;
  std::thread thread_;  // last, for it uses the others
};

// Helpers outlive a loop: tests begin many short ones, and under the sanitizer a thread is dear.
// The number of threads is the greatest number needed at one time.
class Helpers {
 public:
  static Helpers& all() {
    static Helpers helpers;
    return helpers;
  }

  std::vector<std::unique_ptr<Helper>> take(std::size_t wanted) {
    std::vector<std::unique_ptr<Helper>> taken;
    {
      const std::lock_guard lock(mutex_);
      for (; taken.size() < wanted && !idle_.empty(); idle_.pop_back()) {
        taken.push_back(std::move(idle_.back()));
      }
    }
    while (taken.size() < wanted) taken.push_back(std::make_unique<Helper>());
    return taken;
  }

  void give_back(std::vector<std::unique_ptr<Helper>> helpers) {
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<Helper>& helper : helpers) idle_.push_back(std::move(helper));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Helper>> idle_;
};

}  // namespace tbb::detail_of_threads
