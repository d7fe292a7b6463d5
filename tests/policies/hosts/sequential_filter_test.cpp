// Trusts: counts of bcache in Linux 6.1 (1,023 of 4,096 requests of a stream are cached; 0, 6 and
// 16 random reads bypass after streams of 16, 64 and 256 MiB); lists of streams, the latest first.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "policies/hosts/admission_registry.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kBlock = 4096;

std::unique_ptr<AdmissionFilter> filter(const ParamMap& params) {
  auto made = admission_registry().make("sequential", params, {.capacity = 8, .blocks = 1 << 17});
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(*made);
}

// Return whether a request of one block is admitted.
bool offer(AdmissionFilter& filter, const RequestContext& request, BlockId block,
           bool full = true) {
  const Access<> a{.block = block, .request = &request};
  filter.record(a);
  return filter.admits(a, full);
}

TEST(SequentialFilter, CachesTheBeginningOfAStream) {
  const auto made = filter({});
  int admitted = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const RequestContext request{.number = i, .offset = i * kBlock, .bytes = kBlock};
    const bool admits = offer(*made, request, static_cast<BlockId>(i));
    EXPECT_EQ(admits, i < 1023) << i;
    admitted += admits ? 1 : 0;
  }
  EXPECT_EQ(admitted, 1023);
}

TEST(SequentialFilter, CountsTheMeanOfRecentStreams) {
  const std::vector<std::pair<std::uint64_t, int>> seen{{16, 0}, {64, 6}, {256, 16}};
  for (const bool average : {true, false}) {
    for (const auto& [mib, bypassed] : seen) {
      const auto made = filter({{"average", average}});
      std::uint64_t number = 0;
      for (; number < mib * 256; ++number) {
        const RequestContext request{.number = number, .offset = number * kBlock, .bytes = kBlock};
        offer(*made, request, static_cast<BlockId>(number));
      }
      int bypasses = 0;
      for (std::uint64_t i = 0; i < 100; ++i) {
        const RequestContext request{.number = number + i,
                                     .offset = (std::uint64_t{1} << 40) + i * 8 * kBlock,
                                     .bytes = kBlock};
        bypasses += offer(*made, request, static_cast<BlockId>(i)) ? 0 : 1;
      }
      EXPECT_EQ(bypasses, average ? bypassed : 0) << mib;
    }
  }
}

TEST(SequentialFilter, OnlyFullAdmitsStreamsWhileThereIsSpace) {
  const auto made = filter({{"cutoff_bytes", Count{8192}}, {"only_full", true}});
  for (std::uint64_t i = 0; i < 10; ++i) {
    const RequestContext request{.number = i, .offset = i * kBlock, .bytes = kBlock};
    const bool full = i % 2 == 0;
    EXPECT_EQ(offer(*made, request, static_cast<BlockId>(i), full), !full || i == 0) << i;
  }
}

// Streams of one VM, the latest first.
struct NaiveStreams {
  struct Stream {
    std::uint64_t end;
    std::uint64_t bytes;
    Nanoseconds last;
  };
  std::list<Stream> streams;
  std::uint64_t average = 0;
  std::uint64_t last_bytes = 0;

  std::uint64_t follow(const RequestContext& r, std::size_t most, Nanoseconds timeout) {
    auto found = std::ranges::find_if(
        streams, [&](const Stream& s) { return s.end == r.offset && r.time < s.last + timeout; });
    Stream stream{.end = 0, .bytes = 0, .last = 0};
    if (found != streams.end()) {
      stream = *found;
      streams.erase(found);
    } else {
      average = (average * 7 + last_bytes) / 8;
    }
    streams.push_front({r.offset + r.bytes, stream.bytes + r.bytes, r.time});
    if (streams.size() > most) streams.pop_back();
    last_bytes = streams.front().bytes;
    return last_bytes;
  }
};

TEST(SequentialFilter, EqualsListsOfStreams) {
  int bypassed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto most = 1 + random.below(6);
    const auto cutoff = static_cast<Count>(1 + random.below(16 * kBlock));
    const bool average = random.below(2) == 0;
    const double timeout = static_cast<double>(random.below(40)) / 10;
    const auto made = filter({{"streams", static_cast<Count>(most)},
                              {"cutoff_bytes", cutoff},
                              {"average", average},
                              {"timeout_s", timeout}});
    std::map<VmId, NaiveStreams> vms;
    std::map<VmId, std::vector<std::uint64_t>> ends;
    RequestContext request;
    for (std::size_t i = 0; i < 3000; ++i) {
      request.number = i;
      request.time += static_cast<Nanoseconds>(random.below(kSecond));
      request.vm = static_cast<VmId>(random.below(3));
      request.bytes = 512 * (1 + random.below(20));
      auto& last = ends[request.vm];
      const bool goes_on = !last.empty() && random.uniform() < 0.8;
      request.offset = goes_on ? last[random.below(last.size())] : 512 * random.below(1000);
      if (last.size() > most + 1) last.erase(last.begin());
      last.push_back(request.offset + request.bytes);
      NaiveStreams& naive = vms[request.vm];
      const std::uint64_t bytes =
          naive.follow(request, most, static_cast<Nanoseconds>(timeout * kSecond));
      const bool bypasses =
          std::max(bytes, average ? naive.average : 0) >= static_cast<std::uint64_t>(cutoff);
      ASSERT_EQ(offer(*made, request, static_cast<BlockId>(i)), !bypasses)
          << "seed " << seed << " request " << i;
      bypassed += bypasses ? 1 : 0;
    }
  }
  EXPECT_GT(bypassed, 60 * 3000 / 20);
  EXPECT_LT(bypassed, 60 * 3000 * 19 / 20);
}

// Every block of a request is treated alike, and a block keeps the decision until its next access.
TEST(SequentialFilter, DecidesByRequest) {
  const auto made = filter({{"cutoff_bytes", Count{3 * 4096}}});
  const RequestContext first{.number = 7, .blocks = 2, .offset = 512, .bytes = 8192};
  const RequestContext second{.number = 8, .blocks = 2, .offset = 8704, .bytes = 4096};
  for (const BlockId block : {BlockId(0), BlockId(1)}) EXPECT_TRUE(offer(*made, first, block));
  for (const BlockId block : {BlockId(2), BlockId(3)}) EXPECT_FALSE(offer(*made, second, block));
  for (const BlockId block : {BlockId(0), BlockId(1)})
    EXPECT_TRUE(made->admits({.block = block}, true));
  for (const BlockId block : {BlockId(2), BlockId(3)})
    EXPECT_FALSE(made->admits({.block = block}, true));
}

}  // namespace
}  // namespace mcsim
