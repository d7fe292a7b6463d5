// Trusts: a set made anew for every window, and worked examples.
#include "core/locality/profile/working_set.hpp"

#include <gtest/gtest.h>

#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

double naive_average(std::span<const std::uint64_t> keys, std::size_t window) {
  Count sum = 0;
  for (std::size_t end = 1; end <= keys.size(); ++end) {
    const std::size_t begin = end - std::min(end, window);
    sum += naive::unique(keys.subspan(begin, end - begin));
  }
  return keys.empty() ? 0 : static_cast<double>(sum) / static_cast<double>(keys.size());
}

TEST(WorkingSet, IsTheAverageOverAllWindows) {
  const std::vector<Count> windows{100, 1, 2, 10, 65, 64, 699, 700, 100, 2000};
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    WorkingSet set(windows);
    const std::size_t half = stream.keys.size() / 2;
    set.process(std::span(stream.keys).first(half));
    set.process(std::span(stream.keys).subspan(half));
    const std::vector<double> average = set.average();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      EXPECT_NEAR(average[i], naive_average(stream.keys, static_cast<std::size_t>(windows[i])),
                  1e-9)
          << stream.name << ", window " << windows[i];
    }
  }
}

TEST(WorkingSet, DistinctBlocksOfIntervals) {
  const std::vector<std::uint64_t> keys{1, 2, 1, 3, 3, 1, 9};
  const std::vector<Nanoseconds> times{100, 104, 109, 110, 119, 119, 155};
  const References references{.keys = keys, .times = times};
  const auto exact = distinct_per_interval(references, 10, UniqueCounter::kExact).value();
  EXPECT_EQ(exact, (std::vector<double>{2, 2, 0, 0, 0, 1}));
  const auto sketch = distinct_per_interval(references, 10, UniqueCounter::kHyperLogLog).value();
  ASSERT_EQ(sketch.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(sketch[i], exact[i], 0.01);
  EXPECT_EQ(distinct_per_interval({.keys = keys}, 3, UniqueCounter::kExact).value(),
            (std::vector<double>{2, 2, 1}));
  EXPECT_TRUE(distinct_per_interval({}, 3, UniqueCounter::kExact).value().empty());
  EXPECT_EQ(message_of(distinct_per_interval({}, 0, UniqueCounter::kExact).status()),
            "interval: 0 ns is not positive");
}

TEST(ReuseIntensity, AsInMultiCache) {
  EXPECT_DOUBLE_EQ(reuse_intensity(9, 10), 0.1);
  EXPECT_EQ(reuse_intensity(10, 10), 0);
  EXPECT_DOUBLE_EQ(reuse_intensity(1, 8), 1 - 1.0 / 8);
  EXPECT_EQ(reuse_intensity(0, 0), 0);
}

TEST(ReuseIntensity, AsInVCacheShare) {
  EXPECT_DOUBLE_EQ(reuse_intensity_per_second(10, 600, 60 * kSecond), 1);
  EXPECT_DOUBLE_EQ(reuse_intensity_per_second(10, 10, kSecond / 2), 2);
  EXPECT_EQ(reuse_intensity_per_second(0, 0, kSecond), 0);
}

}  // namespace
}  // namespace mcsim
