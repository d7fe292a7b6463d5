#pragma once

#include <map>
#include <mutex>
#include <thread>

namespace tbb {

// One value for each thread that requests one; references stay valid.
template <class Value>
class enumerable_thread_specific {
 public:
  Value& local() {
    const std::lock_guard lock(mutex_);
    return values_[std::this_thread::get_id()];
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, Value> values_;
};

}  // namespace tbb
