// Trusts: TieredHost that serves accesses one by one, for the same by tiers that serve batches.
#include <gtest/gtest.h>

#include "core/engine/hosts/tiered_host.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::random_targets;

constexpr VmId kVms = 3;

constexpr std::uint64_t kSeeds = 6;

// Requests of up to six blocks, every other one a write.
Accesses trace_of(std::uint64_t seed, Nanoseconds requests_each) {
  Random random(seed);
  std::vector<Requests> of_vms(kVms);
  for (Requests& requests : of_vms) {
    for (Nanoseconds time = 0; time < requests_each; ++time) {
      const std::uint64_t block = random.below(random.below(2) == 0 ? 12 : 70);
      const auto blocks = static_cast<std::uint32_t>(1 + random.below(6));
      const Op op = random.below(2) == 0 ? Op::kWrite : Op::kRead;
      requests.push(time, 0, op, block * 4096 + random.below(4096), 4096 * blocks - 4000);
    }
  }
  return testing::interned(of_vms);
}

// A flush that never comes due has few requests served one by one.
void expect_same_at_random(const std::string& policy, const Machine& machine, bool shared,
                           std::uint64_t seed, Nanoseconds requests_each = 500) {
  const Accesses trace = trace_of(seed, requests_each);
  Random random(seed + 1);
  Division division = shared_by_all(machine, trace);
  if (!shared) {
    division = one_part_each(random_targets(machine, kVms, random), {.mode = ResizeMode::kEager});
  }
  DataPathParams params;
  params.policy = policy;
  const auto batches = make_tiered_host(params, machine, trace, division, 1).value();
  params.flush_every = {kSecond};
  const auto singly = make_tiered_host(params, machine, trace, division, 1).value();
  CacheProbe of_batches(trace);
  CacheProbe of_singly(trace);
  ASSERT_TRUE(batches->attach({.probe = &of_batches}).ok() &&
              singly->attach({.probe = &of_singly}).ok());
  const std::uint64_t most = trace.request_count() / 15;
  for (RequestRange range; range.begin < trace.request_count(); range.begin = range.end) {
    SCOPED_TRACE(fmt::format("seed {}, request {}", seed, range.begin));
    range.end = std::min<std::size_t>(trace.request_count(), range.begin + 1 + random.below(most));
    const std::uint64_t decision = random.below(1 << 20);
    decide_at_random(*batches, machine, trace, !shared, decision);
    decide_at_random(*singly, machine, trace, !shared, decision);
    batches->replay(trace, range);
    for (std::size_t r = range.begin; r < range.end; ++r) singly->replay(trace, {r, r + 1});
    testing::expect_same(batches->counters(), singly->counters());
    testing::expect_same(of_batches, of_singly);
    if (::testing::Test::HasFatalFailure()) return;
    if (random.below(3) == 0) {
      of_batches.begin_window();
      of_singly.begin_window();
    }
  }
}

void expect_same_for_seeds(const std::string& policy, const std::vector<Count>& capacities,
                           bool shared) {
  SCOPED_TRACE(
      fmt::format("{}, {} tiers, {}", policy, capacities.size(), shared ? "shared" : "divided"));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    expect_same_at_random(policy, testing::machine_of(capacities), shared, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Also of parts without room, which a VM may be given.
TEST(BatchedChain, CountsAndProbesAsAccessesOneByOne) {
  for (const char* policy : {"arc", "s3-fifo", "fifo", "lfu", "clock", "lirs", "mru", "opt",
                             "w-tinylfu", "talus(epoch=150,sample=64)"}) {
    for (const std::vector<Count>& capacities : {std::vector<Count>{30}, {15, 40}, {5, 20, 60}}) {
      for (const bool shared : {false, true}) {
        expect_same_for_seeds(policy, capacities, shared);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BatchedChain, CountsAndProbesManyStretchesAlike) {
  for (std::uint64_t seed = 100; seed < 100 + kSeeds; ++seed) {
    for (const bool shared : {false, true}) {
      expect_same_at_random("s3-fifo", testing::machine_of({15, 40}), shared, seed, 8'000);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace mcsim
