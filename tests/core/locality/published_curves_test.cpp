// Trusts: LRU results published for public traces, hit counts and ratios alike:
// the ARC paper and tables of independent programs, whose counts agree with
// libCacheSim and with the LIRS authors' code; for web_3 the Multi-Cache
// authors' own curve.
#include <gtest/gtest.h>

#include "core/locality/distances/reuse_distance.hpp"
#include "tests/support/real_traces.hpp"

namespace mcsim {
namespace {

struct Hits {
  Count capacity;
  Count hits;
};

struct Percent {
  Count capacity;
  double percent;
  double printed_to;
};

struct Published {
  const char* file;
  Count accesses;
  Count unique;
  std::vector<Hits> hits;
  std::vector<Percent> percents;
};

std::vector<Published> published() {
  return {
      {"arc/OLTP.lis.zst",
       914'145,
       186'880,
       {{1000, 300'122}, {2000, 388'235}, {5000, 490'443}, {10'000, 554'906}},
       {{250, 16.4734, 1e-4}, {500, 23.4454, 1e-4}, {5500, 54.783, 1e-3}, {11'000, 61.739, 1e-3}}},
      {"arc/P2.lis.zst", 12'729'495, 913'347, {{32'768, 2'350'757}}, {{32'768, 18.47, 1e-2}}},
      {"arc/P3.lis.zst",
       3'912'296,
       762'543,
       {{32'768, 139'485}},
       {{20'000, 2.280, 1e-3}, {220'000, 61.691, 1e-3}}},
      {"lirs/2_pools.txt.zst",
       100'000,
       9939,
       {{100, 21'946}, {200, 36'794}, {300, 45'141}, {450, 50'274}},
       {}},
      {"lirs/gli.txt.zst",
       6015,
       2529,
       {{250, 55}, {500, 57}, {1000, 674}, {1500, 2199}, {2000, 3453}},
       {}},
      {"lirs/cs.txt.zst", 6781, 1409, {{200, 124}, {400, 124}, {800, 124}, {1000, 124}}, {}},
      {"lirs/sprite.txt.zst",
       133'996,
       7075,
       {{200, 53'435}, {400, 94'834}, {600, 111'477}, {1000, 121'452}},
       {{100, 21.580, 1e-3}, {1100, 91.171, 1e-3}}},
      {"lirs/multi1.txt.zst", 15'858, 2606, {{500, 7375}, {1000, 7648}, {1500, 7700}}, {}},
      {"lirs/multi2.txt.zst",
       26'311,
       5684,
       {{600, 9769}, {1200, 12'655}, {1800, 12'757}, {2400, 14'995}},
       {}},
  };
}

class PublishedCurve : public testing::TestWithParam<Published> {};

TEST_P(PublishedCurve, IsOurs) {
  const Published& expected = GetParam();
  const std::string file = expected.file;
  const RealTrace trace = real_trace(file);
  if (!trace.missing.empty()) GTEST_SKIP() << trace.missing;
  const auto keys = file.starts_with("arc/") ? lis_keys(trace.text) : line_keys(trace.text);
  const DistanceHistogram histogram = *histogram_of(keys);
  EXPECT_EQ(histogram.accesses(), expected.accesses);
  EXPECT_EQ(histogram.cold, expected.unique);
  const HitCurve curve(histogram);
  for (const Hits& at : expected.hits) {
    EXPECT_EQ(curve.hits(at.capacity), at.hits) << "capacity " << at.capacity;
  }
  for (const Percent& at : expected.percents) {
    EXPECT_NEAR(100 * curve.ratio(at.capacity), at.percent, at.printed_to)
        << "capacity " << at.capacity;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, PublishedCurve, testing::ValuesIn(published()),
                         [](const auto& published) {
                           std::string name = published.param.file;
                           name = name.substr(name.find('/') + 1);
                           return "t_" + name.substr(0, name.find('.'));
                         });

TEST(PublishedCurve, Web3ByByteOffset) {
  const RealTrace trace = real_trace("msr/web_3.csv.zst");
  if (!trace.missing.empty()) GTEST_SKIP() << trace.missing;
  const HitCurve curve(*histogram_of(msr_read_offsets(trace.text)));
  EXPECT_EQ(curve.accesses(), 10'050);
  EXPECT_NEAR(curve.ratio(curve.saturation()), 0.1104, 5e-5);
}

}  // namespace
}  // namespace mcsim
