#pragma once

#include <algorithm>
#include <thread>
#include <utility>

// What mcsim uses of oneTBB, made of std::threads: the thread sanitizer follows what is
// shared through these, which it cannot through the system's library.
namespace tbb {

namespace detail_of_threads {
inline thread_local int threads = 0;  // of the arena that this thread is in; 0: none
}  // namespace detail_of_threads

class task_arena {
 public:
  static constexpr int automatic = -1;

  explicit task_arena(int threads = automatic)
      // At least two, since one thread has no races.
      : threads_(threads > 0 ? threads
                             : std::max(2, static_cast<int>(std::thread::hardware_concurrency()))) {
  }

  template <class Work>
  decltype(auto) execute(Work&& work) {
    struct Entered {
      explicit Entered(int threads) : before(std::exchange(detail_of_threads::threads, threads)) {}
      ~Entered() { detail_of_threads::threads = before; }
      int before;
    } entered(threads_);
    return std::forward<Work>(work)();
  }

 private:
  int threads_;
};

}  // namespace tbb
