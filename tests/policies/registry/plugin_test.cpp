// Trusts: the built-in policies, which the libraries of this test export under other names.
#include "policies/registry/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/engine/policy/export_policies.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/simulate.hpp"
#include "tests/support/own_file.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A library of tests/support/plugins, in the folder of this program.
std::string library(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("plugin_" + name + ".so");
}

std::string refusal(const std::string& path) { return message_of(load_policies(path).status()); }

TEST(Plugin, ItsPoliciesAreLikeAllOthers) {
  const EvictionRegistry& before = eviction_registry();
  const std::size_t count = before.entries().size();
  ASSERT_THAT(load_policies(library("good")).value(), ElementsAre("plugin-lru", "plugin-slru"));
  EXPECT_EQ(before.entries().size(), count) << "a registry that is in use must not change";
  EXPECT_EQ(eviction_registry().entries().size(), count + 2);

  const auto trace = testing::policy_trace("mix", streams::mix(30'000, 400, 1));
  const ParamMap params{{"protected_share", 0.5}};
  const std::vector<CacheConfig> configs{{"lru", {}, 100},
                                         {"plugin-lru", {}, 100},
                                         {"slru", params, 100},
                                         {"plugin-slru", params, 100}};
  const auto rows = simulate(trace.blocks, {}, trace.unique, configs, {.threads = 2}).value();
  EXPECT_EQ(rows[1].counts, rows[0].counts);
  EXPECT_EQ(rows[3].counts, rows[2].counts);
  EXPECT_NE(rows[2].counts, rows[0].counts);

  EXPECT_EQ(eviction_registry().make("plugin-lr", {}, {}).status().message(),
            "unknown eviction policy 'plugin-lr' (did you mean 'plugin-lru'?)");
  EXPECT_EQ(eviction_registry().make("plugin-slru", {{"protected_share", 2.0}}, {}).status(),
            absl::OutOfRangeError("plugin-slru: protected_share: 2 is outside [0, 1]"));
}

TEST(Plugin, LoadedAgainIsLoadedOnce) {
  ASSERT_TRUE(load_policies(library("good")).ok());
  const std::size_t count = eviction_registry().entries().size();
  EXPECT_THAT(load_policies(library("good")).value(), ElementsAre("plugin-lru", "plugin-slru"));
  EXPECT_EQ(eviction_registry().entries().size(), count);
}

TEST(Plugin, ANameThatIsTakenIsRefusedAndNothingAdded) {
  EXPECT_EQ(refusal(library("clash")), library("clash") + ": eviction policy 'lru' exists already");
  EXPECT_FALSE(eviction_registry().find("plugin-new").ok());
}

TEST(Plugin, ANameThatCannotBeAskedForIsRefused) {
  EXPECT_EQ(
      refusal(library("bad_name")),
      library("bad_name") +
          ": 'My LRU' is not a valid eviction policy name: expected lower-case letters, digits "
          "and '-'");
}

TEST(Plugin, OfAnotherVersionIsRefusedByBothNames) {
  EXPECT_EQ(refusal(library("outdated")),
            library("outdated") +
                ": built for mcsim 0.0.1, interface 0123456789ab, Abseil 20200225, libstdc++, "
                "but this is " +
                kPolicyInterface + ": rebuild it with the headers of this version");
}

// dlopen() fails on such a library, as on one with a damaged header.
TEST(Plugin, OfAnotherDistributionIsRefusedByBothNames) {
  std::ifstream whole(library("outdated"), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(whole), {});
  bytes[0] = '?';
  const testing::OwnFile unloadable("unloadable.so");
  std::ofstream(unloadable.path(), std::ios::binary) << bytes;
  EXPECT_EQ(refusal(unloadable.path()),
            unloadable.path() +
                ": built for mcsim 0.0.1, interface 0123456789ab, Abseil 20200225, libstdc++, "
                "but this is " +
                kPolicyInterface + ": rebuild it with the headers of this version");
}

TEST(Plugin, WhatIsNoneIsRefused) {
  EXPECT_EQ(refusal("no/such.so"), "no/such.so: no such file");
  EXPECT_EQ(
      refusal(library("none")),
      library("none") + ": exports no eviction policies; MCSIM_EXPORT_POLICIES(…) is missing");
  const testing::OwnFile text("text.so");
  std::ofstream(text.path()) << "no library";
  EXPECT_THAT(refusal(text.path()), HasSubstr(text.path() + ": cannot be loaded: "));
}

// The example, built against the installed headers as strangers would build it.
TEST(Plugin, TheExampleRuns) {
  const char* const example = std::getenv("MCSIM_EXAMPLE_POLICY");
  if (example == nullptr) GTEST_SKIP() << "MCSIM_EXAMPLE_POLICY does not name a library";
  ASSERT_THAT(load_policies(example).value(), ElementsAre("drawn-lru"));
  const auto trace = testing::policy_trace("zipf", streams::zipf(30'000, 1000, 0.9, 1));
  const std::vector<CacheConfig> configs{{"random", {}, 100},
                                         {"drawn-lru", {{"sample", std::int64_t{1}}}, 100},
                                         {"drawn-lru", {{"sample", std::int64_t{1024}}}, 100},
                                         {"lru", {}, 100}};
  const auto rows = simulate(trace.blocks, {}, trace.unique, configs).value();
  const auto hits = [&](std::size_t i) { return static_cast<double>(rows[i].counts.hits); };
  EXPECT_NEAR(hits(1) / hits(0), 1, 0.02);
  EXPECT_NEAR(hits(2) / hits(3), 1, 0.001);
}

}  // namespace
}  // namespace mcsim
