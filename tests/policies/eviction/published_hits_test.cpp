// Trusts: hits on public traces as the authors of ARC and LIRS printed them, or as
// other implementations count them (the traces are at moka-rs/cache-trace and in
// Caffeine's repository).
#include <gtest/gtest.h>

#include <map>

#include "policies/registry/eviction.hpp"
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
  double within = 0.0051;  // of a percentage
};

// LFU-DA, GDSF, LRU-2 with all history and MQ as other implementations count them; W-TinyLFU as
// another one that climbs in other steps does; S4LRU as libCacheSim 0.3.5 does.
std::vector<Published> by_frequency() {
  const char* const kOltp = "arc/OLTP.lis.zst";
  const std::map<Count, double> aged{{1000, 38.82}, {2000, 45.35}, {5000, 54.71}, {10'000, 62.27}};
  return {
      {kOltp, "lfu-da", {}, {}, aged},
      {kOltp, "gdsf", {}, {}, aged},
      {kOltp,
       "lru-k",
       {{"history", 1000.0}},
       {},
       {{1000, 33.80}, {2000, 40.64}, {5000, 49.66}, {10'000, 56.70}}},
      {kOltp, "mq", {}, {}, {{1000, 36.82}, {2000, 42.21}, {5000, 50.97}, {10'000, 57.30}}},
      {kOltp, "s4lru", {{"fill", true}}, {}, {{1000, 39.32}}},
      {kOltp,
       "w-tinylfu",
       {{"climb", true}},
       {},
       {{250, 24.73}, {500, 33.70}, {1000, 39.95}, {1500, 43.71}, {2000, 46.07}},
       1.5},
  };
}

// By the programs of their authors, of which authors_counts_test.cpp tells.
std::vector<Published> by_authors_programs() {
  return {
      {"arc/OLTP.lis.zst", "lirs", {{"stack", 2500.0}}, {{1000, 318'160}}, {}},
      {"lirs/2_pools.txt.zst", "lirs", {{"stack", 2500.0}}, {{200, 50'401}, {1000, 54'392}}, {}},
      {"lirs/sprite.txt.zst", "lirs", {{"stack", 2500.0}}, {{200, 59'948}, {1000, 117'407}}, {}},
      {"lirs/multi2.txt.zst", "lirs", {{"stack", 2500.0}}, {{200, 10'402}, {1000, 15'299}}, {}},
      {"arc/OLTP.lis.zst", "cacheus", {{"variant", std::string("authors")}}, {{1000, 350'354}}, {}},
      {"arc/OLTP.lis.zst", "lecar", {{"ties", std::string("number")}}, {{1000, 318'493}}, {}},
      {"arc/OLTP.lis.zst",
       "lecar",
       {{"ties", std::string("number")}, {"history", 1.0}},
       {{1000, 324'346}},
       {}},
      {"arc/OLTP.lis.zst", "hyperbolic", {}, {{1000, 310'860}}, {}},
      {"arc/OLTP.lis.zst", "hyperbolic", {{"leeway", 0.1}}, {{1000, 351'790}}, {}},
      {"lirs/2_pools.txt.zst",
       "cacheus",
       {{"variant", std::string("authors")}},
       {{200, 50'358}, {1000, 54'345}},
       {}},
      {"lirs/2_pools.txt.zst",
       "lecar",
       {{"ties", std::string("number")}},
       {{200, 49'850}, {1000, 54'462}},
       {}},
      {"lirs/2_pools.txt.zst",
       "lecar",
       {{"ties", std::string("number")}, {"history", 1.0}},
       {{200, 49'851}, {1000, 54'446}},
       {}},
      {"lirs/2_pools.txt.zst", "hyperbolic", {}, {{200, 47'388}, {1000, 54'449}}, {}},
      {"lirs/2_pools.txt.zst",
       "hyperbolic",
       {{"leeway", 0.1}},
       {{200, 50'341}, {1000, 54'345}},
       {}},
      {"lirs/sprite.txt.zst",
       "cacheus",
       {{"variant", std::string("authors")}},
       {{200, 65'567}, {1000, 118'594}},
       {}},
      {"lirs/sprite.txt.zst",
       "lecar",
       {{"ties", std::string("number")}},
       {{200, 63'762}, {1000, 120'729}},
       {}},
      {"lirs/sprite.txt.zst",
       "lecar",
       {{"ties", std::string("number")}, {"history", 1.0}},
       {{200, 64'537}, {1000, 120'847}},
       {}},
      {"lirs/sprite.txt.zst", "hyperbolic", {}, {{200, 54'312}, {1000, 120'414}}, {}},
      {"lirs/sprite.txt.zst",
       "hyperbolic",
       {{"leeway", 0.1}},
       {{200, 60'228}, {1000, 118'175}},
       {}},
      {"lirs/multi2.txt.zst",
       "cacheus",
       {{"variant", std::string("authors")}},
       {{200, 8'777}, {1000, 15'068}},
       {}},
      {"lirs/multi2.txt.zst",
       "lecar",
       {{"ties", std::string("number")}},
       {{200, 7'524}, {1000, 13'692}},
       {}},
      {"lirs/multi2.txt.zst",
       "lecar",
       {{"ties", std::string("number")}, {"history", 1.0}},
       {{200, 8'644}, {1000, 13'899}},
       {}},
      {"lirs/multi2.txt.zst", "hyperbolic", {}, {{200, 5'397}, {1000, 12'407}}, {}},
      {"lirs/multi2.txt.zst", "hyperbolic", {{"leeway", 0.1}}, {{200, 7'424}, {1000, 13'836}}, {}},
  };
}

// As the authors of LIRS and CLOCK-Pro have them from their own simulators; CLOCK-Pro
// differs from its authors' code as its header says.
std::vector<Published> by_inter_reference_recency() {
  const auto lirs = [](const char* file, std::map<Count, double> percents) {
    return Published{file, "lirs", {{"stack", 2500.0}}, {}, std::move(percents), 0.051};
  };
  const ParamMap fixed{{"min_cold", 0.05}, {"max_cold", 0.05}};
  return {
      {"arc/OLTP.lis.zst",
       "lirs",
       {},
       {},
       {{1000, 34.80}, {2000, 42.51}, {5000, 52.8}, {10'000, 60.35}}},
      // By libCacheSim 0.3.5.
      {"arc/OLTP.lis.zst", "lirs", {{"stack", 2.0}}, {}, {{1000, 34.58}}},
      lirs("lirs/2_pools.txt.zst", {{100, 44.9}, {200, 50.4}, {300, 50.9}, {450, 51.7}}),
      lirs("lirs/gli.txt.zst",
           {{250, 17.2}, {500, 33.6}, {1000, 50.7}, {1500, 53.5}, {2000, 58.0}}),
      lirs("lirs/cs.txt.zst", {{200, 13.0}, {400, 24.6}, {800, 47.9}, {1000, 59.5}}),
      lirs("lirs/sprite.txt.zst", {{200, 44.7}, {400, 69.5}, {600, 80.9}, {1000, 87.6}}),
      lirs("lirs/multi1.txt.zst", {{500, 55.7}, {1000, 68.4}, {1500, 81.0}}),
      lirs("lirs/multi2.txt.zst", {{600, 52.5}, {1200, 61.3}, {1800, 69.2}, {2400, 74.8}}),
      {"lirs/gli.txt.zst",
       "clock-pro",
       {},
       {},
       {{500, 33.2}, {1000, 50.7}, {1500, 53.5}, {2000, 58.0}},
       0.051},
      {"lirs/sprite.txt.zst",
       "clock-pro",
       {},
       {},
       {{200, 46.2}, {400, 70.0}, {600, 81.8}, {1000, 88.9}},
       0.5},
      {"lirs/gli.txt.zst",
       "clock-pro",
       fixed,
       {},
       {{500, 31.9}, {1000, 50.1}, {1500, 53.5}, {2000, 58.0}},
       0.1},
      {"lirs/sprite.txt.zst",
       "clock-pro",
       fixed,
       {},
       {{200, 46.3}, {400, 70.3}, {600, 81.4}, {1000, 88.4}},
       0.2},
  };
}

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
      oltp("slru", 37.52, 44.45, 52.48, 61.04),
      oltp("2q", 40.53, 46.51, 55.73, 62.58),
      oltp("s3-fifo", 40.84, 47.01, 55.88, 62.64),
      oltp("lfu", 13.83, 18.15, 28.00, 34.08),
      oltp("perfect-lfu", 31.09, 37.46, 47.36, 54.52),
      oltp("car", 39.30, 46.22, 55.34, 61.96),
      {kOltp,
       "arc",
       {},
       {{1000, 356'015}, {2000, 421'200}, {5000, 505'080}, {10'000, 565'609}},
       {}},
      {kOltp,
       "opt",
       {},
       {{1000, 490'093}, {2000, 552'149}, {5000, 624'076}, {10'000, 667'490}},
       {}},
      {kOltp,
       "lru",
       {},
       {{1000, 300'122}, {2000, 388'235}, {5000, 490'443}, {10'000, 554'906}},
       {}},
      {"arc/P2.lis.zst", "lru", {}, {{32'768, 2'350'757}}, {}},
      {"arc/P2.lis.zst", "arc", {}, {}, {{32'768, 27.379}}},
      {"arc/P2.lis.zst", "opt", {}, {{32'768, 5'914'267}}, {}},
      {"arc/P3.lis.zst", "lru", {}, {{32'768, 139'485}}, {}},
      {"arc/P3.lis.zst", "arc", {}, {}, {{32'768, 17.113}}},
      {"arc/P3.lis.zst", "opt", {}, {{32'768, 1'261'555}}, {}},
      {"lirs/2_pools.txt.zst",
       "lru",
       {},
       {{100, 21946}, {200, 36794}, {300, 45141}, {450, 50274}},
       {}},
      {"lirs/2_pools.txt.zst",
       "opt",
       {},
       {{100, 50639}, {200, 56431}, {300, 59164}, {450, 62044}},
       {}},
      {"lirs/gli.txt.zst",
       "lru",
       {},
       {{250, 55}, {500, 57}, {1000, 674}, {1500, 2199}, {2000, 3453}},
       {}},
      {"lirs/gli.txt.zst",
       "opt",
       {},
       {{250, 1061}, {500, 2061}, {1000, 3196}, {1500, 3486}, {2000, 3486}},
       {}},
      {"lirs/cs.txt.zst", "lru", {}, {{200, 124}, {400, 124}, {800, 124}, {1000, 124}}, {}},
      {"lirs/cs.txt.zst", "opt", {}, {{200, 924}, {400, 1724}, {800, 3324}, {1000, 4124}}, {}},
      {"lirs/sprite.txt.zst",
       "lru",
       {},
       {{200, 53435}, {400, 94834}, {600, 111477}, {1000, 121452}},
       {}},
      {"lirs/sprite.txt.zst",
       "opt",
       {},
       {{200, 92270}, {400, 113302}, {600, 120527}, {1000, 124936}},
       {}},
      {"lirs/multi1.txt.zst", "lru", {}, {{500, 7375}, {1000, 7648}, {1500, 7700}}, {}},
      {"lirs/multi1.txt.zst", "opt", {}, {{500, 9322}, {1000, 11322}, {1500, 13164}}, {}},
      {"lirs/multi2.txt.zst",
       "lru",
       {},
       {{600, 9769}, {1200, 12655}, {1800, 12757}, {2400, 14995}},
       {}},
      {"lirs/multi2.txt.zst",
       "opt",
       {},
       {{600, 14604}, {1200, 17154}, {1800, 19240}, {2400, 20292}},
       {}},
      // By libCacheSim 0.3.5.
      {"lirs/2_pools.txt.zst",
       "arc",
       {},
       {{100, 46878}, {200, 50365}, {300, 50883}, {450, 51617}},
       {}},
      {"lirs/2_pools.txt.zst",
       "fifo",
       {},
       {{100, 19379}, {200, 30076}, {300, 36199}, {450, 41520}},
       {}},
      {"lirs/2_pools.txt.zst",
       "clock",
       {},
       {{100, 23866}, {200, 40542}, {300, 48039}, {450, 51209}},
       {}},
      {"lirs/2_pools.txt.zst",
       "sieve",
       {},
       {{100, 47895}, {200, 50344}, {300, 50855}, {450, 51600}},
       {}},
      {"lirs/2_pools.txt.zst",
       "lfu",
       {},
       {{100, 46865}, {200, 50344}, {300, 50854}, {450, 51598}},
       {}},
      {"lirs/2_pools.txt.zst",
       "2q",
       {},
       {{100, 38247}, {200, 50216}, {300, 50771}, {450, 51472}},
       {}},
      {"lirs/2_pools.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{100, 44629}, {200, 50343}, {300, 50880}, {450, 51658}},
       {}},
      {"lirs/gli.txt.zst",
       "arc",
       {},
       {{250, 83}, {500, 83}, {1000, 1282}, {1500, 3034}, {2000, 3453}},
       {}},
      {"lirs/gli.txt.zst",
       "fifo",
       {},
       {{250, 55}, {500, 57}, {1000, 670}, {1500, 1661}, {2000, 2881}},
       {}},
      {"lirs/gli.txt.zst",
       "clock",
       {},
       {{250, 55}, {500, 71}, {1000, 680}, {1500, 2197}, {2000, 3453}},
       {}},
      {"lirs/gli.txt.zst",
       "sieve",
       {},
       {{250, 83}, {500, 83}, {1000, 1885}, {1500, 3119}, {2000, 3453}},
       {}},
      {"lirs/gli.txt.zst",
       "lfu",
       {},
       {{250, 83}, {500, 83}, {1000, 1885}, {1500, 3119}, {2000, 3453}},
       {}},
      {"lirs/gli.txt.zst",
       "2q",
       {},
       {{250, 60}, {500, 71}, {1000, 1851}, {1500, 2170}, {2000, 2881}},
       {}},
      {"lirs/gli.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{250, 952}, {500, 1837}, {1000, 2667}, {1500, 3188}, {2000, 3453}},
       {}},
      {"lirs/cs.txt.zst", "2q", {}, {{200, 124}, {400, 124}, {800, 124}, {1000, 2669}}, {}},
      {"lirs/cs.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{200, 800}, {400, 1468}, {800, 2029}, {1000, 2670}},
       {}},
      {"lirs/sprite.txt.zst",
       "arc",
       {},
       {{200, 57318}, {400, 93823}, {600, 109989}, {1000, 120201}},
       {}},
      {"lirs/sprite.txt.zst",
       "fifo",
       {},
       {{200, 53871}, {400, 88624}, {600, 105186}, {1000, 116903}},
       {}},
      {"lirs/sprite.txt.zst",
       "clock",
       {},
       {{200, 54678}, {400, 94358}, {600, 111443}, {1000, 121004}},
       {}},
      {"lirs/sprite.txt.zst",
       "sieve",
       {},
       {{200, 56839}, {400, 86330}, {600, 104221}, {1000, 116537}},
       {}},
      {"lirs/sprite.txt.zst",
       "lfu",
       {},
       {{200, 12011}, {400, 39238}, {600, 41717}, {1000, 82063}},
       {}},
      {"lirs/sprite.txt.zst",
       "2q",
       {},
       {{200, 61271}, {400, 94977}, {600, 110780}, {1000, 120105}},
       {}},
      {"lirs/sprite.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{200, 62470}, {400, 95516}, {600, 111568}, {1000, 119668}},
       {}},
      {"lirs/multi1.txt.zst", "arc", {}, {{500, 7833}, {1000, 7889}, {1500, 11229}}, {}},
      {"lirs/multi1.txt.zst", "fifo", {}, {{500, 6457}, {1000, 7103}, {1500, 7343}}, {}},
      {"lirs/multi1.txt.zst", "clock", {}, {{500, 7513}, {1000, 7704}, {1500, 7775}}, {}},
      {"lirs/multi1.txt.zst", "sieve", {}, {{500, 7814}, {1000, 7888}, {1500, 7904}}, {}},
      {"lirs/multi1.txt.zst", "lfu", {}, {{500, 7814}, {1000, 7888}, {1500, 7904}}, {}},
      {"lirs/multi1.txt.zst", "2q", {}, {{500, 7605}, {1000, 7666}, {1500, 10883}}, {}},
      {"lirs/multi1.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{500, 8761}, {1000, 9712}, {1500, 11975}},
       {}},
      {"lirs/multi2.txt.zst",
       "arc",
       {},
       {{600, 10481}, {1200, 13367}, {1800, 13399}, {2400, 18954}},
       {}},
      {"lirs/multi2.txt.zst",
       "fifo",
       {},
       {{600, 7923}, {1200, 10602}, {1800, 11368}, {2400, 14780}},
       {}},
      {"lirs/multi2.txt.zst",
       "clock",
       {},
       {{600, 10102}, {1200, 12692}, {1800, 13137}, {2400, 15101}},
       {}},
      {"lirs/multi2.txt.zst",
       "sieve",
       {},
       {{600, 9521}, {1200, 13359}, {1800, 13397}, {2400, 18402}},
       {}},
      {"lirs/multi2.txt.zst",
       "lfu",
       {},
       {{600, 9521}, {1200, 13359}, {1800, 13397}, {2400, 18402}},
       {}},
      {"lirs/multi2.txt.zst",
       "2q",
       {},
       {{600, 12835}, {1200, 12930}, {1800, 15556}, {2400, 16911}},
       {}},
      {"lirs/multi2.txt.zst",
       "s3-fifo",
       {{"variant", std::string("libcachesim")}},
       {{600, 13613}, {1200, 15499}, {1800, 17394}, {2400, 19038}},
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
    EXPECT_TRUE(cache->replay({.blocks = trace.blocks, .next_uses = trace.next_uses}).ok());
    EXPECT_TRUE(cache->check().ok()) << cache->check().message();
    return cache->counts().hits;
  };
  for (const auto& [capacity, count] : expected.hits) {
    EXPECT_EQ(hits(capacity), count) << "capacity " << capacity;
  }
  for (const auto& [capacity, percent] : expected.percents) {
    const double share =
        static_cast<double>(hits(capacity)) / static_cast<double>(trace.blocks.size());
    EXPECT_NEAR(100 * share, percent, expected.within) << "capacity " << capacity;
  }
}

std::string case_name(const ::testing::TestParamInfo<Published>& each) {
  std::string name = each.param.file;
  name = name.substr(name.find('/') + 1);
  name = name.substr(0, name.find('.')) + "_" + each.param.policy;
  for (const auto& [key, value] : each.param.params) name += "_" + key;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Traces, PublishedHits, ::testing::ValuesIn(published()), case_name);
INSTANTIATE_TEST_SUITE_P(ByFrequency, PublishedHits, ::testing::ValuesIn(by_frequency()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(ByAuthorsPrograms, PublishedHits,
                         ::testing::ValuesIn(by_authors_programs()), case_name);
INSTANTIATE_TEST_SUITE_P(ByRecency, PublishedHits,
                         ::testing::ValuesIn(by_inter_reference_recency()), case_name);

}  // namespace
}  // namespace mcsim
