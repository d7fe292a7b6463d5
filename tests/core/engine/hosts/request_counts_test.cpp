// Trusts: laws. Bytes hit alike whether a request is served as one or block by block, and a request
// hits if none of its blocks misses.
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

// Requests with any offset and length, and discards, of two VMs.
std::vector<Requests> unaligned_requests(std::uint64_t seed) {
  Random random(seed);
  std::vector<Requests> of_vms(2);
  for (Requests& requests : of_vms) {
    for (Nanoseconds at = 0; at < 1'000; ++at) {
      const Op op{static_cast<std::uint8_t>(random.below(10) == 0 ? 2 : random.below(2))};
      requests.push(at, 0, op, random.below(random.below(2) == 0 ? 40'000 : 400'000),
                    static_cast<std::uint32_t>(1 + random.below(20'000)));
    }
  }
  return of_vms;
}

// Replays the requests one by one, and removes discarded blocks; checks requests by misses.
std::vector<VmCounters> replay(const DataPathParams& params, const Accesses& trace) {
  const Machine machine = testing::machine_of({6, 30});
  const auto host =
      make_data_path(params, machine, trace, shared_by_all(machine, trace), 1).value();
  std::vector<VmCounters> before = host->counters();
  auto discard = trace.discards.begin();
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    for (; discard != trace.discards.end() && discard->request <= r; ++discard) {
      host->discard(std::span(&discard->block, 1));
    }
    host->replay(trace, {r, r + 1});
    const std::vector<VmCounters> now = host->counters();
    const std::size_t vm = trace.request_vm[r];
    const VmCounters span = now[vm].since(before[vm]);
    EXPECT_EQ(span.requests, 1);
    EXPECT_EQ(span.bytes, Count{trace.request_bytes[r]});
    EXPECT_EQ(span.request_hits, span.misses == 0 ? 1 : 0) << "request " << r;
    if (span.misses == 0) {
      EXPECT_EQ(span.byte_hits, span.bytes) << "request " << r;
    }
    if (span.misses == span.accesses) {
      EXPECT_EQ(span.byte_hits, 0) << "request " << r;
    }
    before = now;
  }
  return before;
}

TEST(RequestCounts, BytesAreThoseOfTheBlocksThatHit) {
  for (const Chain chain : {Chain::kExclusive, Chain::kVictim, Chain::kInclusive}) {
    for (const char* policy : {"lru", "arc"}) {
      for (const char* writes : {"through", "back", "around"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(chain), policy, writes));
        DataPathParams params;
        params.chain = chain;
        params.policy = policy;
        params.writes = writes;
        const std::vector<Requests> requests = unaligned_requests(7);
        const ExpandOptions whole{.ops = OpFilter::kAll, .bytes = true};
        ExpandOptions in_blocks = whole;
        in_blocks.cut_bytes = whole.block_bytes;
        const auto by_request = replay(params, testing::interned(requests, whole));
        const auto by_block = replay(params, testing::interned(requests, in_blocks));
        for (std::size_t vm = 0; vm < 2; ++vm) {
          EXPECT_EQ(by_request[vm].misses, by_block[vm].misses);
          EXPECT_EQ(by_request[vm].bytes, by_block[vm].bytes);
          EXPECT_EQ(by_request[vm].byte_hits, by_block[vm].byte_hits);
          EXPECT_GT(by_request[vm].byte_hits, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mcsim
