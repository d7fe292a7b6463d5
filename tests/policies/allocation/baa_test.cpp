// Trusts: the program as it is printed, solved on a grid; what it promises to clients.
#include "policies/allocation/baa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;

TEST(Baa, ThoseWhoNeedOneDeviceEachHaveItToThemselves) {
  EXPECT_THAT(bottleneck_aware(std::vector{1.0, 0.0}, 5'000, 100), ElementsAre(5'000, 100));
  EXPECT_THAT(bottleneck_aware(std::vector{1.0, 1.0}, 5'000, 100), ElementsAre(2'500, 2'500));
  EXPECT_THAT(bottleneck_aware(std::vector{0.0}, 5'000, 100), ElementsAre(100));
}

// Of a device that says what it can do, that counts; the bytes of its operations too.
TEST(Baa, DevicesSayWhatTheyCanDo) {
  Device device{.name = "d", .read_ns = 1e6};
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 1e6) << "one read after the other";
  device.iops = 5'000;
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 2e5) << "several at a time";
  device.bandwidth = 4096 * 100;
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 1e7) << "100 blocks a second";
  EXPECT_DOUBLE_EQ(device.busy_ns(4), 2e5);
}

struct Clients {
  std::vector<double> hits;
  double fast;
  double slow;
};

Clients random_clients(Random& random) {
  Clients made{.hits = std::vector<double>(1 + random.below(5)),
               .fast = 10.0 + static_cast<double>(random.below(1'000)),
               .slow = 10.0 + static_cast<double>(random.below(1'000))};
  for (double& hit : made.hits) hit = static_cast<double>(random.below(101)) / 100;
  return made;
}

TEST(Baa, NobodyIsWorseOffThanAloneOrWithTheTimeOfAnother) {
  Random random(1);
  for (int round = 0; round < 2'000; ++round) {
    const auto [hits, fast, slow] = random_clients(random);
    const std::vector<double> got = bottleneck_aware(hits, fast, slow);
    double fast_used = 0;
    double slow_used = 0;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      fast_used += got[i] * hits[i];
      slow_used += got[i] * (1 - hits[i]);
      // Requests that a client would have with so much of both devices.
      const auto with = [&](double of_fast, double of_slow) {
        const double by_fast = hits[i] > 0 ? of_fast / hits[i] : 1e18;
        return std::min(by_fast, hits[i] < 1 ? of_slow / (1 - hits[i]) : 1e18);
      };
      const auto clients = static_cast<double>(hits.size());
      EXPECT_GE(got[i] * (1 + 1e-6), with(fast / clients, slow / clients));
      for (std::size_t j = 0; j < hits.size(); ++j) {
        EXPECT_GE(got[i] * (1 + 1e-6), with(got[j] * hits[j], got[j] * (1 - hits[j])));
      }
    }
    EXPECT_LE(fast_used, fast * (1 + 1e-6));
    EXPECT_LE(slow_used, slow * (1 + 1e-6));
  }
}

// The best of all multiples of fair shares on a grid, by the program's own lines.
double best_on_a_grid(const Clients& of) {
  const auto n = static_cast<double>(of.hits.size());
  const double balance = of.fast / (of.fast + of.slow);
  double best = 0;
  for (double x = 1; x < 8; x += 0.05) {
    for (double y = 1; y < 8; y += 0.05) {
      double fast_used = 0;
      double slow_used = 0;
      double sum = 0;
      bool envied = false;
      for (const double h : of.hits) {
        const double fair =
            std::min(h > 0 ? of.fast / (n * h) : 1e18, h < 1 ? of.slow / (n * (1 - h)) : 1e18);
        const double got = (h < balance ? x : y) * fair;
        sum += got;
        fast_used += got * h;
        slow_used += got * (1 - h);
      }
      for (const double h : of.hits) {
        for (const double g : of.hits) {
          if ((h < balance) == (g < balance)) continue;
          // What the one of them has of the other's bottleneck, by what that one has.
          if (h < balance) {
            envied = envied || y * (1 - g) / g * of.fast > x * of.slow;
          } else {
            envied = envied || x * g / (1 - g) * of.slow > y * of.fast;
          }
        }
      }
      if (!envied && fast_used <= of.fast && slow_used <= of.slow) best = std::max(best, sum);
    }
  }
  return best;
}

TEST(Baa, NoOtherMultiplesOfFairSharesAreMore) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const Clients clients = random_clients(random);
    const std::vector<double> got = bottleneck_aware(clients.hits, clients.fast, clients.slow);
    EXPECT_GE(std::accumulate(got.begin(), got.end(), 0.0) * (1 + 1e-9), best_on_a_grid(clients));
  }
}

}  // namespace
}  // namespace mcsim
