// Trusts: reuse distances counted naively; the Dvoretzky–Kiefer–Wolfowitz bound
// and chi-square for what is random; arithmetic for what is exact.
#include "core/trace/synthetic/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/naive.hpp"
#include "tests/support/synthetic.hpp"

namespace mcsim {
namespace {

using testing::generate;
using ::testing::HasSubstr;
using testing::of_vm;

constexpr Nanoseconds kHour = 3600 * kSecond;

SyntheticComponent component(std::string name, LocalityModel model,
                             std::vector<RequestSize> sizes = {{4096, 1}}) {
  return {std::move(name), std::move(model), std::move(sizes)};
}

// A VM of one hour that reads from its components in equal parts.
SyntheticProfile profile_of(std::vector<SyntheticComponent> components, Count requests) {
  SyntheticPhase phase{.duration = kHour, .requests = requests};
  for (const SyntheticComponent& part : components) phase.reads.push_back({part.name, 1});
  SyntheticProfile profile{.seed = 1};
  profile.vms.push_back({"vm", std::move(components), {phase}});
  return profile;
}

std::vector<std::uint64_t> blocks_of(const Requests& requests) {
  std::vector<std::uint64_t> blocks;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t end = requests.offset[i] + requests.length[i];
    for (std::uint64_t at = requests.offset[i]; at < end; at += 4096) blocks.push_back(at / 4096);
  }
  return blocks;
}

constexpr Count kCold = -1;  // of naive::distances

// The distances drawn once every depth of the model can be reached.
std::vector<Count> settled(const std::vector<Count>& distances, Count deepest) {
  Count live = 0;
  std::size_t from = 0;
  while (from < distances.size() && live < deepest) live += distances[from++] == kCold;
  return {distances.begin() + static_cast<std::ptrdiff_t>(from), distances.end()};
}

double hit_ratio(const std::vector<Count>& distances, Count blocks) {
  const auto hit = [&](Count d) { return d != kCold && d < blocks; };
  return static_cast<double>(std::ranges::count_if(distances, hit)) /
         static_cast<double>(distances.size());
}

// With probability 1 - 1e-6 no point of an empirical distribution of n draws is
// further than this from the law.
double dkw_bound(std::size_t n) {
  return std::sqrt(std::log(2 / 1e-6) / (2 * static_cast<double>(n)));
}

double straight(const std::vector<HitRatioPoint>& curve, Count blocks, bool log) {
  HitRatioPoint from;
  for (const HitRatioPoint& to : curve) {
    if (blocks <= to.blocks) {
      const auto axis = [&](Count b) {
        return log && from.blocks > 0 ? std::log(static_cast<double>(b)) : static_cast<double>(b);
      };
      return from.hit_ratio + (to.hit_ratio - from.hit_ratio) * (axis(blocks) - axis(from.blocks)) /
                                  (axis(to.blocks) - axis(from.blocks));
    }
    from = to;
  }
  return from.hit_ratio;
}

TEST(StackModel, GivesBackItsCurve) {
  const std::vector<HitRatioPoint> curve{{10, 0.3}, {40, 0.3}, {400, 0.75}};
  for (const auto interpolation : {Interpolation::kLinear, Interpolation::kLog}) {
    const bool log = interpolation == Interpolation::kLog;
    const auto profile = profile_of({component("s", StackModel{curve, interpolation})}, 60'000);
    const auto distances = settled(naive::distances(blocks_of(generate(profile))), 400);
    ASSERT_GT(distances.size(), 50'000U);
    // Straight over log(blocks) is drawn in sixteen straight pieces an octave.
    const double bound = dkw_bound(distances.size()) + (log ? 1e-4 : 0);
    for (Count blocks = 1; blocks <= 500; ++blocks) {
      ASSERT_NEAR(hit_ratio(distances, blocks), straight(curve, blocks, log), bound) << blocks;
    }
  }
}

TEST(StackModel, LandsOnTheLastBlockOfAnExtentOfOneSize) {
  constexpr Count kBlocks = 8;
  const std::vector<HitRatioPoint> curve{{1600, 0.8}};
  const auto profile =
      profile_of({component("s", StackModel{curve}, {{kBlocks * 4096, 1}})}, 12'000);
  const auto all = naive::distances(blocks_of(generate(profile)));
  const auto distances = settled(all, 1600);
  for (const Count d : distances) ASSERT_TRUE(d == kCold || d % kBlocks == kBlocks - 1) << d;
  // All blocks of a request fare alike, so the draws are the requests.
  const double bound = dkw_bound(distances.size() / kBlocks);
  for (Count blocks = kBlocks; blocks <= 1600; blocks += kBlocks) {
    ASSERT_NEAR(hit_ratio(distances, blocks), straight(curve, blocks, false), bound) << blocks;
  }
}

TEST(StackModel, MixedSizesKeepTheCurveAndTheMix) {
  const std::vector<HitRatioPoint> curve{{4000, 0.7}};
  const std::vector<RequestSize> sizes{{512, 1}, {8192, 2}, {32768, 1}};  // 1, 2, 8 blocks
  const auto requests = generate(profile_of({component("s", StackModel{curve}, sizes)}, 20'000));
  const auto distances = settled(naive::distances(blocks_of(requests)), 4000);
  // The blocks above a depth of k extents have a standard deviation of
  // sqrt(k)·2.8; at 4000 blocks four of them are 392 blocks, 0.069 of the curve.
  // Extents bring their accesses in lumps of up to 8.
  const double bound = 8 / 3.25 * dkw_bound(requests.size()) + 0.07;
  for (Count blocks = 50; blocks <= 4000; blocks += 50) {
    ASSERT_NEAR(hit_ratio(distances, blocks), straight(curve, blocks, false), bound) << blocks;
  }
  std::map<std::uint32_t, double> count;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (seen.insert(requests.offset[i]).second) ++count[requests.length[i]];
  }
  const auto extents = static_cast<double>(seen.size());
  EXPECT_NEAR(count[8192] / extents, 0.5, 5 * std::sqrt(0.25 / extents));
  EXPECT_NEAR(count[512] / extents, 0.25, 5 * std::sqrt(0.1875 / extents));
}

TEST(ZipfModel, DrawsEachBlockByItsRank) {
  constexpr std::size_t kBlocks = 500;
  constexpr Count kRequests = 200'000;
  const auto blocks = blocks_of(generate(
      profile_of({component("z", ZipfModel{.blocks = kBlocks, .alpha = 0.8})}, kRequests)));
  std::vector<double> count(kBlocks);
  for (const std::uint64_t block : blocks) ++count.at(block);
  double norm = 0;
  for (std::size_t rank = 1; rank <= kBlocks; ++rank) norm += std::pow(rank, -0.8);
  double chi_square = 0;
  for (std::size_t rank = 1; rank <= kBlocks; ++rank) {
    const double expected = kRequests * std::pow(rank, -0.8) / norm;
    chi_square += (count[rank - 1] - expected) * (count[rank - 1] - expected) / expected;
  }
  // 499 degrees of freedom: mean 499, standard deviation sqrt(998).
  EXPECT_NEAR(chi_square, kBlocks - 1, 5 * std::sqrt(2.0 * (kBlocks - 1)));
}

TEST(LoopModel, EveryDistanceIsItsLengthLessOne) {
  const std::vector<RequestSize> sizes{{4096, 1}, {5 * 4096, 1}};
  const auto requests = generate(profile_of({component("l", LoopModel{997}, sizes)}, 2'000));
  const auto distances = naive::distances(blocks_of(requests));
  ASSERT_GT(distances.size(), 4 * 997U);
  EXPECT_TRUE(
      std::all_of(distances.begin(), distances.begin() + 997, [](Count d) { return d == kCold; }));
  EXPECT_TRUE(
      std::all_of(distances.begin() + 997, distances.end(), [](Count d) { return d == 996; }));
}

TEST(ScanModel, NeverTouchesABlockTwice) {
  const std::vector<RequestSize> sizes{{1000, 1}, {9000, 1}};
  const auto distances = naive::distances(
      blocks_of(generate(profile_of({component("s", ScanModel{}, sizes)}, 1'000))));
  EXPECT_TRUE(std::ranges::all_of(distances, [](Count d) { return d == kCold; }));
}

TEST(Components, ShareNoBlocksAndKeepTheirWeights) {
  auto profile =
      profile_of({component("s", StackModel{{{100, 0.9}}}), component("l", LoopModel{50}),
                  component("z", ZipfModel{.blocks = 40})},
                 30'000);
  profile.vms[0].phases[0].reads = {{"s", 1}, {"l", 3}, {"z", 2}};
  const auto requests = generate(profile);
  // The fixed sets lie where they were declared: the loop's 50 blocks, then zipf's 40.
  double loop = 0;
  double zipf = 0;
  for (const std::uint64_t block : blocks_of(requests)) {
    loop += block < 50;
    zipf += block >= 50 && block < 90;
  }
  EXPECT_NEAR(loop, 15'000, 5 * std::sqrt(30'000 * 0.25));
  EXPECT_NEAR(zipf, 10'000, 5 * std::sqrt(30'000 * 2.0 / 9));
}

TEST(Components, KeepTheirStateFromPhaseToPhase) {
  auto profile = profile_of({component("l", LoopModel{100})}, 150);
  profile.vms[0].phases.push_back(
      {.start = kHour, .duration = kHour, .requests = 150, .reads = {{"l", 1}}});
  const auto blocks = blocks_of(generate(profile));
  for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(blocks[i], i % 100);
}

TEST(Components, DoNotDisturbEachOther) {
  const auto alone = profile_of({component("z", ZipfModel{.blocks = 1000})}, 500);
  auto beside = alone;
  beside.vms[0].components.push_back(component("unused", ScanModel{}));
  beside.vms.insert(beside.vms.begin(), beside.vms[0]);
  beside.vms[0].name = "other";
  const auto expected = generate(alone);
  const auto both = generate(beside);
  EXPECT_EQ(of_vm(both, 1).offset, expected.offset);
  EXPECT_EQ(of_vm(both, 1).time, expected.time);
  EXPECT_NE(of_vm(both, 0).time, expected.time);
}

TEST(Vms, AreMergedByTimeThenByTheirOrder) {
  auto profile = profile_of({component("s", ScanModel{})}, 3'000);
  profile.vms[0].phases[0].duration = 1'000;  // three requests a nanosecond
  for (const char* name : {"b", "c"}) {
    profile.vms.push_back(profile.vms[0]);
    profile.vms.back().name = name;
  }
  profile.vms[1].phases[0].start = 500;
  const auto all = generate(profile, 700);
  ASSERT_EQ(all.size(), 9'000U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_LE(std::pair(all.time[i - 1], all.vm[i - 1]), std::pair(all.time[i], all.vm[i]));
  }
  for (VmId vm = 0; vm < 3; ++vm) ASSERT_EQ(of_vm(all, vm).size(), 3'000U);
}

TEST(Totals, RequestsAndReadsAreExact) {
  auto profile = profile_of({component("r", ScanModel{}), component("w", ScanModel{})}, 12'345);
  profile.vms[0].phases[0].read_share = 0.3;
  profile.vms[0].phases[0].reads = {{"r", 1}};
  profile.vms[0].phases[0].writes = {{"w", 1}};
  const auto requests = generate(profile);
  EXPECT_EQ(requests.size(), 12'345U);
  EXPECT_EQ(std::ranges::count(requests.op, static_cast<std::uint8_t>(Op::kRead)), 3'704);
  EXPECT_EQ(SyntheticTrace::make(profile)->request_count(), 12'345);
}

TEST(Arrivals, AreInOrderAndInsideTheirPhase) {
  auto profile = profile_of({component("s", ScanModel{})}, 5'000);
  profile.vms[0].phases[0].start = 7 * kHour;
  profile.vms[0].phases[0].bursts = Bursts{.period = kHour / 6, .length = kSecond, .share = 0.5};
  const auto requests = generate(profile);
  EXPECT_TRUE(std::ranges::is_sorted(requests.time));
  EXPECT_GE(requests.time.front(), 7 * kHour);
  EXPECT_LT(requests.time.back(), 8 * kHour);
}

TEST(Arrivals, AnEvenPhaseIsEvenEverywhere) {
  const auto requests = generate(profile_of({component("s", ScanModel{})}, 3'600));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(requests.time[i] / kSecond, static_cast<Nanoseconds>(i));
  }
}

TEST(Arrivals, FollowTheTimeOfDay) {
  constexpr double kRequests = 100'000;
  auto profile = profile_of({component("s", ScanModel{})}, static_cast<Count>(kRequests));
  SyntheticPhase& phase = profile.vms[0].phases[0];
  phase.duration = 48 * kHour;
  phase.diurnal = Diurnal{.amplitude = 0.6, .peak = 15 * kHour};
  std::vector<double> hourly(48);
  for (const Nanoseconds time : generate(profile).time) {
    ++hourly.at(static_cast<std::size_t>(time / kHour));
  }
  for (int hour = 0; hour < 48; ++hour) {
    // The mean of 1 + 0.6·cos over the hour, of which two days have 48.
    const double turn = 2 * M_PI / 24;
    const double mean =
        1 + 0.6 * (std::sin(turn * (hour + 1 - 15)) - std::sin(turn * (hour - 15))) / turn;
    ASSERT_NEAR(hourly[static_cast<std::size_t>(hour)], kRequests * mean / 48, 4) << hour;
  }
}

TEST(Arrivals, BurstsTakeTheirShareAndTheirOwnMixture) {
  auto profile = profile_of({component("l", LoopModel{10}), component("s", ScanModel{})}, 40'000);
  SyntheticPhase& phase = profile.vms[0].phases[0];
  phase.duration = 10 * kHour;
  phase.reads = {{"s", 1}};
  phase.bursts =
      Bursts{.period = kHour, .length = 10 * kSecond, .share = 0.25, .reads = {{"l", 1}}};
  const auto requests = generate(profile);
  std::map<Nanoseconds, std::vector<Nanoseconds>> burst;  // by hour
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests.offset[i] < 10 * 4096) burst[requests.time[i] / kHour].push_back(requests.time[i]);
  }
  ASSERT_EQ(burst.size(), 10U);
  Nanoseconds earliest = kHour;
  Nanoseconds latest = 0;
  for (const auto& [hour, times] : burst) {
    EXPECT_NEAR(static_cast<double>(times.size()), 1000, 1) << hour;
    EXPECT_LE(times.back() - times.front(), 10 * kSecond) << hour;
    earliest = std::min(earliest, times.front() % kHour);
    latest = std::max(latest, times.front() % kHour);
  }
  // Ten places drawn from an hour: all within half of it once in 93 times.
  EXPECT_GT(latest - earliest, kHour / 2);
}

TEST(Determinism, ChunksAndRunsDoNotMatter) {
  auto profile = profile_of({component("s", StackModel{{{100, 0.5}}}, {{4096, 1}, {8192, 1}}),
                             component("z", ZipfModel{.blocks = 300})},
                            2'000);
  profile.vms.push_back(profile.vms[0]);
  profile.vms[1].name = "other";
  const auto whole = generate(profile);
  const auto pieces = generate(profile, 333);
  EXPECT_EQ(whole.time, pieces.time);
  EXPECT_EQ(whole.offset, pieces.offset);
  EXPECT_EQ(whole.length, pieces.length);
  EXPECT_EQ(whole.vm, pieces.vm);
  profile.seed = 2;
  EXPECT_NE(whole.offset, generate(profile).offset);
}

std::string message(const SyntheticProfile& profile) {
  return message_of(SyntheticTrace::make(profile).status());
}

TEST(Validation, SaysWhatIsWrongAndWhere) {
  const auto good = profile_of({component("scan", ScanModel{})}, 10);
  auto bad = good;
  bad.vms[0].phases[0].reads = {{"scam", 1}};
  EXPECT_EQ(message(bad),
            "vm 'vm': phases[0]: reads: unknown component 'scam' (did you mean 'scan'?)");
  bad = good;
  bad.vms[0].phases[0].read_share = 0.5;
  EXPECT_THAT(message(bad), HasSubstr("phases[0]: writes: the weights must have a finite sum > 0"));
  bad = good;
  bad.vms[0].phases.push_back(bad.vms[0].phases[0]);
  EXPECT_THAT(message(bad),
              HasSubstr("phases[1]: starts at 0 ns, before the phase before it ends"));
  bad = profile_of({component("s", StackModel{{{10, 0.5}, {10, 0.6}}})}, 10);
  EXPECT_THAT(message(bad), HasSubstr("component 's': stack: curve: 10 blocks after 10"));
  bad = profile_of({component("s", StackModel{{{10, 0.5}, {20, 0.4}}})}, 10);
  EXPECT_THAT(message(bad), HasSubstr("hit ratio 0.4 after 0.5 (must not fall"));
  bad = profile_of({component("z", ZipfModel{.blocks = 0})}, 10);
  EXPECT_THAT(message(bad), HasSubstr("zipf: blocks: 0 is outside [1, 4294967296]"));
  bad = profile_of({component("s", ScanModel{}, {{0, 1}})}, 10);
  EXPECT_THAT(message(bad), HasSubstr("sizes: a request has at least one byte"));
  bad = profile_of({component("s", ScanModel{}), component("s", ScanModel{})}, 10);
  EXPECT_THAT(message(bad), HasSubstr("component 's': declared twice"));
  bad = good;
  bad.vms[0].phases[0].bursts = Bursts{.period = 5, .length = 6, .share = 1};
  EXPECT_THAT(message(bad), HasSubstr("bursts: length: 6 ns is outside"));
}

// That of the component a request is drawn from, and other requests come of none.
TEST(Classes, AreThoseOfComponents) {
  const auto made = [](std::optional<std::uint8_t> one, std::optional<std::uint8_t> other) {
    SyntheticVm vm{
        .name = "vm",
        .components = {{"loop", LoopModel{8}, {{4096, 1}}, one},
                       {"scan", ScanModel{}, {{8192, 1}}, other}},
        .phases = {{.duration = kSecond, .requests = 500, .reads = {{"loop", 1}, {"scan", 1}}}}};
    return SyntheticTrace::make({.vms = {vm}});
  };
  Requests plain;
  Requests classed;
  ASSERT_TRUE(made({}, {})->next(1'000, plain).ok());
  ASSERT_TRUE(made(1, 6)->next(1'000, classed).ok());
  EXPECT_TRUE(plain.of_class.empty());
  EXPECT_EQ(plain.offset, classed.offset);
  ASSERT_EQ(classed.of_class.size(), 500U);
  for (std::size_t i = 0; i < 500; ++i) {
    ASSERT_EQ(classed.of_class[i], classed.length[i] == 4096 ? 1 : 6);
  }
  EXPECT_EQ(message_of(made(8, 1).status()),
            "vm 'vm': component 'loop': class: 8 is outside [0, 7]");
  EXPECT_EQ(message_of(made({}, 1).status()),
            "vm 'vm': component 'loop': others have a class: expected one of 0 to 7");
}

TEST(Validation, RefusesMoreBlocksThanThereAreIds) {
  auto trace =
      SyntheticTrace::make(profile_of({component("s", ScanModel{}, {{4'294'967'295U, 1}})}, 5'000));
  ASSERT_TRUE(trace.ok());
  Requests chunk;
  EXPECT_THAT(message_of(trace->next(5'000, chunk)), HasSubstr("vm 'vm': touches more than 2^32"));
}

}  // namespace
}  // namespace mcsim
