// Trusts: schedules one can make by hand; what threads themselves see of each other.
#include "policies/replay/job_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using std::chrono::milliseconds;

TEST(JobQueue, TheLongestFirst) {
  JobQueue queue({{.work = 2}, {.work = 7}, {.work = 7}, {.work = 5}});
  std::vector<std::size_t> order;
  while (const auto job = queue.take(milliseconds(0))) {
    order.push_back(*job);
    queue.finish(*job);
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 2, 3, 0}));
  EXPECT_TRUE(queue.over());
}

TEST(JobQueue, WhatDoesNotFitWaits) {
  JobQueue queue({{.bytes = 6, .work = 3}, {.bytes = 5, .work = 2}, {.bytes = 4, .work = 1}}, 10);
  EXPECT_EQ(queue.take(milliseconds(0)), 0);
  EXPECT_EQ(queue.take(milliseconds(0)), 2);  // the one of 5 bytes does not fit
  EXPECT_EQ(queue.take(milliseconds(0)), std::nullopt);
  queue.finish(2);
  EXPECT_EQ(queue.take(milliseconds(0)), std::nullopt);
  queue.finish(0);
  EXPECT_EQ(queue.take(milliseconds(0)), 1);
  EXPECT_FALSE(queue.over());
  queue.finish(1);
  EXPECT_TRUE(queue.over());
}

TEST(JobQueue, StoppedHandsOutNothing) {
  JobQueue queue(std::vector<Job>(2));
  EXPECT_TRUE(queue.take(milliseconds(0)));
  queue.stop();
  EXPECT_EQ(queue.take(milliseconds(0)), std::nullopt);
  EXPECT_FALSE(queue.over());
  queue.finish(0);
  EXPECT_TRUE(queue.over());
}

TEST(JobQueue, ThreadsDoAllOfItOnceAndWithinMemory) {
  constexpr std::size_t kMemory = 100;
  Random random(1);
  std::vector<Job> jobs(500);
  for (Job& job : jobs) job = {.bytes = random.below(kMemory + 1), .work = random.uniform()};
  JobQueue queue(jobs, kMemory);
  std::atomic<std::size_t> held = 0;
  std::atomic<std::size_t> most = 0;
  std::vector<std::atomic<int>> times(jobs.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!queue.over()) {
        const auto job = queue.take(milliseconds(1));
        if (!job) continue;
        const std::size_t now = held += jobs[*job].bytes;
        for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++times[*job];
        std::this_thread::yield();
        held -= jobs[*job].bytes;
        queue.finish(*job);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kMemory);
  EXPECT_TRUE(std::ranges::all_of(times, [](const auto& count) { return count == 1; }));
}

}  // namespace
}  // namespace mcsim
