// Trusts: replays of the policies that the table of libraries names; hit ratios of the libraries
// themselves, run on public traces in versions of the table.
#include "policies/registry/libraries.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/component_spec.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/real_traces.hpp"

namespace mcsim {
namespace {

using testing::policy_trace;
using testing::PolicyTrace;

TEST(Libraries, HitAsTheirPolicies) {
  const PolicyTrace trace = policy_trace("mix", streams::mix(20'000, 300, 1));
  const PolicySetup setup{.capacity = 100, .blocks = trace.unique, .trace = trace.blocks};
  int without_policy = 0;
  for (const Library& library : libraries()) {
    const auto cache = eviction_registry().make(library.info.name, {}, setup);
    const ComponentSpec spec = parse_component(library.policy).value_or(ComponentSpec{});
    if (spec.name.empty()) {
      ++without_policy;
      EXPECT_EQ(message_of(cache.status()),
                fmt::format("{}: no policy has the hits of {}: {}", library.info.name,
                            library.version, library.difference));
      continue;
    }
    ASSERT_TRUE(cache.ok()) << library.info.name << ": " << message_of(cache.status());
    const auto policy = eviction_registry().make(spec.name, spec.params, setup).value();
    ASSERT_TRUE((*cache)->replay({.blocks = trace.blocks}).ok());
    ASSERT_TRUE(policy->replay({.blocks = trace.blocks}).ok());
    EXPECT_EQ((*cache)->counts(), policy->counts()) << library.info.name;
    EXPECT_GT(policy->counts().hits, 0);
  }
  EXPECT_GT(without_policy, 0);
}

// Percentages of hits with one decimal, and how far ours may be off.
struct Measured {
  const char* library;
  std::vector<double> oltp;  // at 1869, 9344 and 37,376 entries
  double sprite;             // at 354 entries
  double within;
};

constexpr double kOneDecimal = 0.0501;

const std::vector<Measured>& measured() {
  static const std::vector<Measured> cells{
      {"golang-lru", {41.6, 60.1, 72.0}, 65.7, kOneDecimal},
      {"neophi-sieve", {40.3, 60.0, 72.2}, 59.8, kOneDecimal},
      {"golang-lru-2q", {45.1, 61.3, 72.9}, 65.6, kOneDecimal},
      {"golang-lru-arc", {45.5, 61.0, 72.5}, 65.6, kOneDecimal},
      {"quick-cache", {43.2, 60.7, 71.6}, 66.0, 0.8},
      {"moka", {39.4, 53.3, 58.2}, 64.9, 0.7},
      {"caffeine", {44.7, 59.0, 64.9}, 66.1, 1},
      {"otter", {44.7, 58.4, 64.8}, 65.8, 0.8},
      {"cache2k", {43.8, 60.3, 71.1}, 64.7, 0.1},
      {"foyer-s3fifo", {45.5, 60.8, 72.4}, 66.1, kOneDecimal},
      {"foyer-lfu", {44.0, 60.9, 72.0}, 65.6, 0.6},
  };
  return cells;
}

TEST(Libraries, HitAsTheLibrariesDo) {
  const RealTrace oltp_file = real_trace("arc/OLTP.lis.zst");
  if (!oltp_file.missing.empty()) GTEST_SKIP() << oltp_file.missing;
  const RealTrace sprite_file = real_trace("lirs/sprite.txt.zst");
  if (!sprite_file.missing.empty()) GTEST_SKIP() << sprite_file.missing;
  const PolicyTrace oltp = policy_trace("oltp", lis_keys(oltp_file.text));
  const PolicyTrace sprite = policy_trace("sprite", line_keys(sprite_file.text));
  const auto percent = [](const char* library, const PolicyTrace& trace, Count capacity) {
    const auto cache = eviction_registry()
                           .make(library, {}, {.capacity = capacity, .blocks = trace.unique})
                           .value();
    EXPECT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
    return 100 * static_cast<double>(cache->counts().hits) /
           static_cast<double>(trace.blocks.size());
  };
  for (const Measured& cells : measured()) {
    SCOPED_TRACE(cells.library);
    EXPECT_NEAR(percent(cells.library, oltp, 1869), cells.oltp.at(0), cells.within);
    EXPECT_NEAR(percent(cells.library, oltp, 9344), cells.oltp.at(1), cells.within);
    EXPECT_NEAR(percent(cells.library, oltp, 37'376), cells.oltp.at(2), cells.within);
    EXPECT_NEAR(percent(cells.library, sprite, 354), cells.sprite, cells.within);
  }
}

TEST(Libraries, HaveOneVersion) {
  const PolicySetup setup{.capacity = 10, .blocks = 10};
  const Library& library = libraries().front();
  const ParamMap right{{"version", std::string(library.version)}};
  EXPECT_TRUE(eviction_registry().make(library.info.name, right, setup).ok());
  const ParamMap wrong{{"version", std::string("0.0")}};
  EXPECT_EQ(message_of(eviction_registry().make(library.info.name, wrong, setup).status()),
            fmt::format("{}: version: expected {}, got '0.0'", library.info.name, library.version));
  EXPECT_EQ(library_named("lru"), nullptr);
}

}  // namespace
}  // namespace mcsim
