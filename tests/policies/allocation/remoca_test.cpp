// Trusts: the LRU structure, with the last tier and without it.
#include "policies/allocation/remoca.hpp"

#include <gtest/gtest.h>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::hits_of;
using testing::machine_of;
using testing::random_trace;
using testing::replay;

TEST(Remoca, IsGlobalLruUntilTheOtherHostsFail) {
  const Accesses trace = random_trace(6'000, 3, 300, 1);
  const RunResult lru = replay("lru", {}, machine_of({30, 120}), trace);
  EXPECT_EQ(hits_of(replay("remoca", {}, machine_of({30, 120}), trace), 1), hits_of(lru, 1));

  const RunResult lost =
      replay("remoca", {{"fails_at", std::int64_t{3'000}}}, machine_of({30, 120}), trace);
  EXPECT_EQ(hits_of(lost, 0), hits_of(lru, 0)) << "the tier above does not notice";
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(hits_of(lost, 1)[i], i < 3 ? hits_of(lru, 1)[i] : 0) << i;
    Count held = 0;
    for (const VmCounters& vm : lost.intervals[i]) held += vm.tiers[1].occupancy;
    EXPECT_EQ(held, i < 3 ? 120 : 0) << i;
  }
}

TEST(Remoca, AReturnedTierIsEmpty) {
  const Accesses trace = random_trace(6'000, 2, 300, 2);
  const ParamMap times{{"fails_at", std::int64_t{2'000}}, {"returns_at", std::int64_t{4'000}}};
  const RunResult result = replay("remoca", times, machine_of({30, 120}), trace);
  const std::vector<Count> hits = hits_of(result, 1);
  EXPECT_GT(hits[1], 0);
  EXPECT_EQ(hits[2] + hits[3], 0);
  EXPECT_GT(hits[5], 0);
  EXPECT_LT(hits[4], hits[1]);
}

TEST(Remoca, DirtyBlocksOfALostTierAreWrittenBack) {
  Requests requests;
  for (int i = 0; i < 20; ++i) requests.push(i, 0, Op::kWrite, 4096 * i, 4096);
  requests.push(2'000, 0, Op::kRead, 4096 * 100, 4096);
  const Accesses trace = testing::interned({requests});
  const RunResult result =
      replay("remoca", {{"writes", std::string("back")}, {"fails_at", std::int64_t{1'000}}},
             machine_of({4, 30}), trace);
  EXPECT_EQ(result.intervals[0][0].dirty, 20);
  EXPECT_EQ(result.intervals[1][0].write_backs, 16);
  EXPECT_EQ(result.intervals[1][0].dirty, 4) << "what the tier above has stays there";
}

TEST(Remoca, RefusesAReturnBeforeTheFailure) {
  const auto made = system_registry().make(
      "remoca", {{"fails_at", std::int64_t{5}}, {"returns_at", std::int64_t{5}}},
      {.machine = machine_of({4, 4})});
  EXPECT_EQ(message_of(made.status()), "remoca: returns_at: expected to be later than fails_at");
}

}  // namespace
}  // namespace mcsim
