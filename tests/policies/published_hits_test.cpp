// Trusts: hits on public traces as the authors of ARC and LIRS printed them, or as
// other implementations count them (the traces are at moka-rs/cache-trace and in
// Caffeine's repository).
#include <gtest/gtest.h>

#include <map>

#include "policies/eviction/registry.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/real_traces.hpp"

namespace mcsim {
namespace {

struct Published {
  const char* file;
  const char* policy;
  ParamMap params;
  // By capacity: hits, exactly, or a percentage of the accesses, as it is printed.
  std::map<Count, Count> hits;
  std::map<Count, double> percents;
};

std::vector<Published> published() {
  const char* const kOltp = "arc/OLTP.lis.zst";
  const auto oltp = [&](const char* policy, double at_1000, double at_2000, double at_5000,
                        double at_10000, ParamMap params = {}) {
    return Published{kOltp,
                     policy,
                     std::move(params),
                     {},
                     {{1000, at_1000}, {2000, at_2000}, {5000, at_5000}, {10'000, at_10000}}};
  };
  return {
      oltp("fifo", 28.53, 37.44, 49.68, 57.29),
      oltp("clock", 33.27, 43.03, 53.83, 60.98),
      oltp("sieve", 32.56, 41.19, 51.89, 60.47),
      {kOltp,
       "lru",
       {},
       {{1000, 300'122}, {2000, 388'235}, {5000, 490'443}, {10'000, 554'906}},
       {}},
      {"arc/P2.lis.zst", "lru", {}, {{32'768, 2'350'757}}, {}},
      {"arc/P3.lis.zst", "lru", {}, {{32'768, 139'485}}, {}},
      {"lirs/sprite.txt.zst",
       "lru",
       {},
       {{200, 53'435}, {400, 94'834}, {600, 111'477}, {1000, 121'452}},
       {}},
      {"lirs/multi2.txt.zst",
       "lru",
       {},
       {{600, 9769}, {1200, 12'655}, {1800, 12'757}, {2400, 14'995}},
       {}},
  };
}

// The trace in use; tests come in an order that reads each but once or twice.
const testing::PolicyTrace& interned(const std::string& file, const std::string& text) {
  static testing::PolicyTrace trace;
  if (trace.name != file) {
    trace =
        testing::policy_trace(file, file.starts_with("arc/") ? lis_keys(text) : line_keys(text));
  }
  return trace;
}

class PublishedHits : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedHits, AreOurs) {
  const Published& expected = GetParam();
  const RealTrace file = real_trace(expected.file);
  if (!file.missing.empty()) GTEST_SKIP() << file.missing;
  const testing::PolicyTrace& trace = interned(expected.file, file.text);
  const auto hits = [&](Count capacity) {
    const PolicySetup setup{.capacity = capacity, .blocks = trace.unique, .trace = trace.blocks};
    const auto cache = eviction_registry().make(expected.policy, expected.params, setup).value();
    cache->replay({.blocks = trace.blocks, .next_uses = trace.next_uses});
    EXPECT_TRUE(cache->check().ok()) << cache->check().message();
    return cache->counts().hits;
  };
  for (const auto& [capacity, count] : expected.hits) {
    EXPECT_EQ(hits(capacity), count) << "capacity " << capacity;
  }
  for (const auto& [capacity, percent] : expected.percents) {
    const double share =
        static_cast<double>(hits(capacity)) / static_cast<double>(trace.blocks.size());
    EXPECT_NEAR(100 * share, percent, 0.0051) << "capacity " << capacity;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, PublishedHits, ::testing::ValuesIn(published()),
                         [](const auto& each) {
                           std::string name = each.param.file;
                           name = name.substr(name.find('/') + 1);
                           name = name.substr(0, name.find('.')) + "_" + each.param.policy;
                           for (const auto& [key, value] : each.param.params) name += "_" + key;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mcsim
