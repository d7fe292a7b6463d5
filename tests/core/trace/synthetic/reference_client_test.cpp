// Trusts: a client simulated by arrival, with a list as its cache; Little's
// law; arithmetic by hand.
#include "core/trace/synthetic/reference_client.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "tests/support/synthetic.hpp"

namespace mcsim {
namespace {

using testing::generate;
using ::testing::HasSubstr;
using testing::of_vm;

constexpr std::uint32_t kBlock = 4096;
constexpr Nanoseconds kMs = 1'000'000;

// The least recently used block stands last.
class NaiveCache {
 public:
  explicit NaiveCache(Count capacity) : capacity_(static_cast<std::size_t>(capacity)) {}

  bool use(std::uint64_t block) {
    const auto found = std::ranges::find(blocks_, block);
    const bool held = found != blocks_.end();
    if (held) blocks_.erase(found);
    blocks_.push_front(block);
    if (blocks_.size() > capacity_) blocks_.pop_back();
    return held;
  }

 private:
  std::size_t capacity_;
  std::list<std::uint64_t> blocks_;
};

// Holds times and response times of a VM's requests to what its client would do with them, one
// after the other.
void check_by_hand(const SyntheticVm& vm, const Requests& requests) {
  NaiveCache cache(vm.client->cache_blocks);
  std::size_t next = 0;
  Nanoseconds answered = 0;
  for (const SyntheticPhase& phase : vm.phases) {
    const Nanoseconds end = phase.start + phase.duration;
    for (Nanoseconds now = std::max(phase.start, answered); now < end;
         now = answered + *phase.think) {
      ASSERT_LT(next, requests.size()) << "at " << now << " ns";
      ASSERT_EQ(requests.time[next], now) << next;
      bool hit = true;
      const std::uint64_t first = requests.offset[next] / kBlock;
      const std::uint64_t last = (requests.offset[next] + requests.length[next] - 1) / kBlock;
      for (std::uint64_t block = first; block <= last; ++block) {
        if (!cache.use(block)) hit = false;
      }
      const bool write = requests.op[next] == static_cast<std::uint8_t>(Op::kWrite);
      const Nanoseconds took = write ? vm.client->write : hit ? vm.client->hit : vm.client->miss;
      ASSERT_EQ(requests.response[next], took) << next;
      answered = now + took;
      ++next;
    }
  }
  EXPECT_EQ(next, requests.size());
}

// Hits of 1 ms, misses of 9 and writes of 5, among some 200 blocks of all sorts.
SyntheticVm waiting_vm(std::string name, Count cache_blocks) {
  const std::vector<RequestSize> sizes{{kBlock, 2}, {3 * kBlock, 1}, {100, 1}};
  const std::vector<ComponentShare> parts{{"zipf", 3}, {"loop", 1}, {"scan", 1}};
  const auto phase = [&](Nanoseconds start, Nanoseconds duration, Nanoseconds think) {
    return SyntheticPhase{.start = start,
                          .duration = duration,
                          .think = think,
                          .read_share = 0.7,
                          .reads = parts,
                          .writes = {{"zipf", 1}}};
  };
  return {.name = std::move(name),
          .components = {{"zipf", ZipfModel{.blocks = 150, .alpha = 0.8}, sizes},
                         {"loop", LoopModel{40}, sizes},
                         {"scan", ScanModel{}, sizes}},
          // In a row; a pause; shorter than most responses; no thinking.
          .phases = {phase(0, kSecond, 2 * kMs), phase(kSecond, 10 * kSecond, 50 * kMs),
                     phase(20 * kSecond, 4 * kMs, 3 * kMs), phase(20'004 * kMs, kMs, 0),
                     phase(20'005 * kMs, 5 * kSecond, 0)},
          .client = SyntheticClient{cache_blocks, kMs, 9 * kMs, 5 * kMs}};
}

TEST(ReferenceClient, DoesWhatASimulationByHandDoes) {
  for (const Count cache : {1, 2, 7, 60, 199, 5'000}) {
    SCOPED_TRACE(cache);
    const SyntheticProfile profile{.seed = 3, .vms = {waiting_vm("vm", cache)}};
    const Requests requests = generate(profile);
    EXPECT_GT(requests.size(), 900U);
    check_by_hand(profile.vms[0], requests);
  }
}

TEST(ReferenceClient, KeepsItsBooksWhileItsCacheGrowsAndIsFull) {
  // More blocks than the first room of its books has, several times over.
  SyntheticVm vm = waiting_vm("vm", 3'000);
  vm.components[0].model = ZipfModel{.blocks = 4'000, .alpha = 0.3};
  vm.phases.back().duration = 60 * kSecond;
  const SyntheticProfile profile{.seed = 4, .vms = {vm}};
  const Requests requests = generate(profile);
  check_by_hand(vm, requests);
  const auto hits = std::ranges::count(requests.response, kMs);
  EXPECT_GT(hits, 1'000);
  EXPECT_LT(hits, static_cast<std::ptrdiff_t>(requests.size()) / 2);
}

TEST(ReferenceClient, HasOneOfEachVmThatKnowsOfNoOther) {
  SyntheticVm open{.name = "open",
                   .components = {{"loop", LoopModel{30}, {{kBlock, 1}}}},
                   .phases = {{.duration = 20 * kSecond, .requests = 500, .reads = {{"loop", 1}}}}};
  const SyntheticProfile profile{.seed = 5,
                                 .vms = {waiting_vm("a", 60), open, waiting_vm("b", 20)}};
  const Requests all = generate(profile);
  EXPECT_TRUE(std::ranges::is_sorted(all.time));
  check_by_hand(profile.vms[0], of_vm(all, 0));
  check_by_hand(profile.vms[2], of_vm(all, 2));
  // A VM without a client is as alone, and its responses are unknown.
  const Requests beside = of_vm(all, 1);
  const Requests alone = generate({.seed = 5, .vms = {open}});
  EXPECT_EQ(beside.time, alone.time);
  EXPECT_EQ(beside.offset, alone.offset);
  EXPECT_EQ(std::ranges::count(beside.response, -1), 500);
}

TEST(ReferenceClient, BeginsAPhaseOnTimeOrAsTheLastResponseComes) {
  const SyntheticVm vm = waiting_vm("vm", 60);
  const Requests requests = generate({.seed = 3, .vms = {vm}});
  for (const std::size_t phase : {0U, 2U}) {  // nothing is under way after a pause
    EXPECT_TRUE(std::ranges::binary_search(requests.time, vm.phases[phase].start)) << phase;
  }
  for (const SyntheticPhase& phase : vm.phases) {
    const auto first = std::ranges::lower_bound(requests.time, phase.start);
    ASSERT_NE(first, requests.time.end());
    EXPECT_LE(*first - phase.start, 9 * kMs);
  }
  EXPECT_LT(requests.time.back(), vm.phases.back().start + vm.phases.back().duration);
}

// The reads among n requests are binomial: five standard deviations.
TEST(ReferenceClient, ReadsTheShareThatIsDeclared) {
  const Requests requests = generate({.seed = 6, .vms = {waiting_vm("vm", 60)}});
  const auto n = static_cast<double>(requests.size());
  const auto reads = static_cast<double>(std::ranges::count(requests.op, 0));
  EXPECT_NEAR(reads, 0.7 * n, 5 * std::sqrt(0.21 * n));
}

TEST(ReferenceClient, ObeysLittlesLaw) {
  // All hit from the second round on: 1 ms of every 4 a request is under way.
  SyntheticVm vm{.name = "vm",
                 .components = {{"loop", LoopModel{10}, {{kBlock, 1}}}},
                 .phases = {{.duration = 40 * kMs, .think = 3 * kMs, .reads = {{"loop", 1}}},
                            {.start = kSecond,
                             .duration = 20 * kSecond,
                             .think = 3 * kMs,
                             .reads = {{"loop", 1}}}},
                 .client = SyntheticClient{10, kMs, kMs, kMs}};
  const Requests hits = generate({.vms = {vm}});
  ASSERT_EQ(hits.size(), 10U + 5'000U);
  EXPECT_EQ(std::accumulate(hits.response.begin() + 10, hits.response.end(), Nanoseconds{0}),
            20 * kSecond / 4);
  // Whatever they take: from the first request to the end of the last thought, all the time is
  // response or thought.
  vm = waiting_vm("vm", 60);
  vm.phases = {vm.phases[0]};
  const Requests requests = generate({.seed = 7, .vms = {vm}});
  const auto total =
      std::accumulate(requests.response.begin(), requests.response.end(), Nanoseconds{0});
  EXPECT_EQ(requests.time.back() + requests.response.back() + 2 * kMs,
            total + static_cast<Nanoseconds>(requests.size()) * 2 * kMs);
}

TEST(ReferenceClient, IsTheSameInPiecesAndAgainAndAnotherWithAnotherSeed) {
  SyntheticProfile profile{.seed = 8, .vms = {waiting_vm("a", 60), waiting_vm("b", 7)}};
  const Requests whole = generate(profile);
  const Requests pieces = generate(profile, 77);
  EXPECT_EQ(whole.time, pieces.time);
  EXPECT_EQ(whole.offset, pieces.offset);
  EXPECT_EQ(whole.op, pieces.op);
  EXPECT_EQ(whole.response, pieces.response);
  profile.seed = 9;
  EXPECT_NE(whole.time, generate(profile).time);
}

TEST(ReferenceClient, CountsAtMostWhatTheFastestResponsesGive) {
  SyntheticVm vm = waiting_vm("vm", 60);
  vm.phases = {vm.phases[0]};  // a second, of which each takes 3 ms or more
  EXPECT_EQ(SyntheticTrace::make({.vms = {vm}})->request_count(), 334);
  vm.client = SyntheticClient{60, kMs, kMs, kMs};
  EXPECT_EQ(generate({.vms = {vm}}).size(), 334U);
}

std::string message(const SyntheticVm& vm) {
  return message_of(SyntheticTrace::make({.vms = {vm}}).status());
}

TEST(ReferenceClient, SaysWhatIsWrongAndWhere) {
  const SyntheticVm good = waiting_vm("vm", 60);
  SyntheticVm bad = good;
  bad.client.reset();
  EXPECT_EQ(message(bad), "vm 'vm': phases[0]: think: needs a VM with a 'client'");
  bad = good;
  bad.phases[3].think.reset();
  EXPECT_EQ(message(bad),
            "vm 'vm': phases[3]: requests: a VM with a 'client' needs 'think' instead");
  bad = good;
  bad.phases[1].requests = 5;
  EXPECT_THAT(message(bad), HasSubstr("phases[1]: think: cannot be combined with requests"));
  bad = good;
  bad.phases[1].diurnal = Diurnal{};
  EXPECT_THAT(message(bad), HasSubstr("cannot be combined with diurnal"));
  bad = good;
  bad.phases[1].bursts = Bursts{.period = 5, .length = 5};
  EXPECT_THAT(message(bad), HasSubstr("cannot be combined with bursts"));
  bad = good;
  bad.phases[0].think = -1;
  EXPECT_THAT(message(bad), HasSubstr("think: -1 ns is outside [0, 1152921504606846976]"));
  bad = good;
  bad.client->miss = -1;
  EXPECT_THAT(message(bad), HasSubstr("vm 'vm': client: miss: -1 ns is outside [0, 1152921504"));
  for (const Count blocks : {Count{0}, (Count{1} << 31) + 1}) {
    bad = good;
    bad.client->cache_blocks = blocks;
    EXPECT_THAT(message(bad), HasSubstr("client: cache_blocks: "));
    EXPECT_THAT(message(bad), HasSubstr("is outside [1, 2147483648]"));
  }
}

TEST(ReferenceClient, RefusesWhatNeverEnds) {
  SyntheticVm vm = waiting_vm("vm", 60);
  vm.client->hit = 0;
  EXPECT_THAT(message(vm),
              HasSubstr("phases[3]: think: 0 ns and responses of 0 ns: one must be longer"));
  for (SyntheticPhase& phase : vm.phases) phase.think = 1;
  vm.phases[1].duration = vm.phases[4].duration = kSecond;
  EXPECT_EQ(message(vm), "");
  vm.phases.back().duration = 10 * 3600 * kSecond;
  EXPECT_THAT(message(vm),
              HasSubstr("phases[4]: think: 1 ns after responses that take 0 ns or more are "
                        "36000000000000 requests: at most 4294967296 can be made"));
  vm.phases.back().start = Nanoseconds{1} << 62;
  EXPECT_THAT(message(vm), HasSubstr("ends after 4611686018427387904 ns"));
}

}  // namespace
}  // namespace mcsim
