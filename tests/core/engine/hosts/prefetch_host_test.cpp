// Trusts: TieredHost without a prefetcher, and ids worked by hand. What prefetchers do is compared
// with plain Python in tests/python/experiment/test_prefetch.py.
#include "core/engine/hosts/prefetch_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/hosts/data_path.hpp"
#include "policies/prefetch/prefetchers.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::expect_same;
using testing::machine_of;
using testing::random_trace;
using testing::single_vm;
using testing::trace_of;
using testing::with_writes;

std::vector<std::uint64_t> addresses_with_ids(const PrefetchIds& ids, VmId vm,
                                              std::uint64_t end = 100) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t at = 0; at < end; ++at) {
    if (ids.find(vm, at)) found.push_back(at);
  }
  return found;
}

absl::StatusOr<std::unique_ptr<TieredHost>> tiers_of(const DataPathParams& params,
                                                     const Machine& machine, const Accesses& trace,
                                                     const Division& division) {
  MCSIM_ASSIGN_OR_RETURN(auto host, make_tiered_host(params, machine, trace, division, 1));
  return std::unique_ptr<TieredHost>(static_cast<TieredHost*>(host.release()));
}

TEST(PrefetchIds, HasTheNextBlocksUpToTheEndOfTheDevice) {
  const Accesses trace = single_vm({10, 3, 11, 20, 3});
  const PrefetchIds ids = PrefetchIds::make(trace, OneAhead({}, {})).value();
  EXPECT_THAT(addresses_with_ids(ids, 0), ::testing::ElementsAre(3, 4, 10, 11, 12, 20));
  EXPECT_EQ(ids.end_of(0), 21);
  const Accesses renumbered = ids.renumber(trace);
  EXPECT_EQ(renumbered.id_count(), 6);
  EXPECT_THAT(renumbered.ids,
              ::testing::ElementsAre(BlockId(2), BlockId(0), BlockId(3), BlockId(5), BlockId(0)));
  EXPECT_EQ(ids.find(0, 4), BlockId(1));
  EXPECT_EQ(ids.id_of(trace.ids[0]), BlockId(2));
  EXPECT_EQ(renumbered.block_address[5], 20 * 4096);
}

TEST(PrefetchIds, ReadaheadAddsNoBlocksAfterSparseReads) {
  const Accesses trace = single_vm({3, 10, 11, 20, 40});
  const PrefetchIds ids = PrefetchIds::make(trace, Readahead({.max = 2}, {.vms = 1})).value();
  EXPECT_THAT(addresses_with_ids(ids, 0),
              ::testing::ElementsAre(3, 10, 11, 12, 13, 14, 15, 20, 40));
}

TEST(PrefetchIds, TheIdsOfAVmAreContiguous) {
  const Accesses trace = trace_of({0, 1, 1, 0}, {5, 5, 8, 6});
  const PrefetchIds ids = PrefetchIds::make(trace, OneAhead({}, {})).value();
  const Accesses renumbered = ids.renumber(trace);
  EXPECT_EQ(renumbered.vms[0].unique_blocks, 2);
  EXPECT_EQ(renumbered.vms[1].first_id, BlockId(2));
  EXPECT_THAT(addresses_with_ids(ids, 1), ::testing::ElementsAre(5, 6, 8));
  EXPECT_EQ(ids.find(1, 8), BlockId(4));
}

TEST(PrefetchIds, NeedsAddresses) {
  Accesses trace = single_vm({1, 2});
  trace.keeps_addresses = false;
  const auto ids = PrefetchIds::make(trace, OneAhead({}, {}));
  EXPECT_THAT(ids.status().message(), ::testing::HasSubstr("does not keep the addresses"));
}

// A host whose prefetcher does nothing, and the same tiers alone.
TEST(PrefetchHost, NewIdsChangeNoCount) {
  const Accesses trace = with_writes(random_trace(6000, 3, 400, 7), 8);
  const Machine machine = machine_of({40, 90});
  Allocation targets(2, 3);
  for (std::size_t vm = 0; vm < 3; ++vm) targets.at(0, vm) = 10, targets.at(1, vm) = 30;
  const Division division = one_part_each(targets, {.mode = ResizeMode::kEager});
  for (const Chain chain : {Chain::kExclusive, Chain::kInclusive, Chain::kIndependent}) {
    DataPathParams params;
    params.chain = chain;
    params.writes = "back";
    const auto plain = make_tiered_host(params, machine, trace, division, 1).value();
    const auto host =
        PrefetchHost::make(std::make_unique<NoPrefetch>(NoParams{}, PrefetchSetup{}), 0, 2, trace,
                           [&](const Accesses& renumbered) {
                             return tiers_of(params, machine, renumbered, division);
                           })
            .value();
    for (std::size_t begin = 0; begin < 6000; begin += 500) {
      plain->replay(trace, {begin, begin + 500});
      host->replay(trace, {begin, begin + 500});
      for (Host* const of : {plain.get(), host.get()}) {
        decide_at_random(*of, machine, trace, true, begin);
      }
      expect_same(host->counters(), plain->counters());
      EXPECT_TRUE(host->check_invariants().ok());
    }
  }
}

}  // namespace
}  // namespace mcsim
