// Trusts: which blocks a request touches, restated over std::map, and
// the laws of merging: every VM's own order stays, equal times keep VM order.
#include "core/trace/interning/access_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <set>

#include "core/base/random.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;
using testing::interned;

TEST(AccessBuilder, TouchesFromTheFirstToTheLastByte) {
  Requests r;
  r.push(0, 0, Op::kRead, 0, 1);        // block 0
  r.push(1, 0, Op::kRead, 4095, 2);     // blocks 0, 1
  r.push(2, 0, Op::kRead, 8192, 0);     // none
  r.push(3, 0, Op::kRead, 4096, 8192);  // blocks 1, 2
  const Accesses a = interned({r});
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(a.request_begin, ElementsAre(0, 1, 3, 3, 5));
  EXPECT_EQ(a.vms[0].unique_blocks, 3);
  EXPECT_EQ(a.id_count(), 3U);
}

TEST(AccessBuilder, ByteOffsetKeysDoNotMeetUnlessOffsetsAreEqual) {
  Requests r;
  r.push(0, 0, Op::kRead, 512, 8192);  // keys 512, 513
  r.push(1, 0, Op::kRead, 513, 4096);  // key 513
  r.push(2, 0, Op::kRead, 0, 4097);    // keys 0, 1
  const Accesses a = interned({r}, {.key = BlockKey::kByteOffset});
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(0, 1, 1, 2, 3));
}

TEST(AccessBuilder, ReadsOnlyDropsWritesBeforeNumbering) {
  Requests r;
  r.push(0, 0, Op::kWrite, 0, 4096);
  r.push(1, 0, Op::kRead, 4096, 4096);
  const Accesses a = interned({r}, {.ops = OpFilter::kReads});
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(0));
  EXPECT_EQ(a.vms[0].requests, 1);
}

TEST(AccessBuilder, WholeSecondsCountFromTheFirstRequestOfAnyKind) {
  Requests r;
  r.push(5 * kSecond / 10, 0, Op::kWrite, 0, 4096);
  r.push(14 * kSecond / 10, 0, Op::kRead, 0, 4096);
  r.push(16 * kSecond / 10, 0, Op::kRead, 0, 4096);
  const Accesses a = interned({r}, {.whole_seconds = true});
  EXPECT_THAT(a.request_time, ElementsAre(0, kSecond));
}

TEST(AccessBuilder, MergesByTimeThenVmThenPosition) {
  Requests first;
  first.push(1, 0, Op::kRead, 0, 4096);
  first.push(1, 0, Op::kRead, 4096, 4096);
  first.push(3, 0, Op::kRead, 0, 4096);
  Requests second;
  second.push(0, 0, Op::kRead, 0, 4096);
  second.push(1, 0, Op::kRead, 4096, 4096);
  const Accesses a = interned({first, second});
  EXPECT_THAT(numbers_of(a.request_vm), ElementsAre(1, 0, 0, 1, 0));
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(2, 0, 1, 3, 0));
  EXPECT_EQ(a.vms[1].first_id, 2U);
}

TEST(AccessBuilder, RandomStreamsKeepTheirOrderAndTheirBlocks) {
  Random random(1);
  std::vector<Requests> vms(5);
  for (Requests& vm : vms) {
    Nanoseconds at = 0;
    for (int i = 0; i < 300; ++i) {
      at += static_cast<Nanoseconds>(random.below(3));
      vm.push(at, 0, Op::kRead, random.below(100'000),
              static_cast<std::uint32_t>(random.below(20'000)), i % 50 - 1,
              static_cast<std::uint8_t>(i * i % 8));
    }
  }
  const Accesses a =
      interned(vms, {.responses = true, .classes = true, .bytes = true, .addresses = true});
  EXPECT_TRUE(a.keeps_responses && a.keeps_classes && a.keeps_bytes);
  EXPECT_TRUE(interned(vms).request_response.empty()) << "nobody asked for them";
  EXPECT_TRUE(interned(vms).request_class.empty()) << "nor for these";
  EXPECT_TRUE(interned(vms, {.bytes = false}).request_bytes.empty()) << "not kept";
  EXPECT_TRUE(std::ranges::is_sorted(a.request_time));
  std::vector<std::size_t> position(vms.size(), 0);
  std::map<BlockId, std::pair<VmId, std::uint64_t>> meaning;
  for (std::size_t r = 0; r < a.request_count(); ++r) {
    const VmId vm = a.request_vm[r];
    const std::size_t i = position[vm]++;
    ASSERT_EQ(a.request_time[r], vms[vm].time[i]);
    ASSERT_EQ(a.request_response[r], vms[vm].response[i]);
    ASSERT_EQ(a.request_class[r], vms[vm].of_class[i]);
    ASSERT_EQ(a.request_bytes[r], vms[vm].length[i]);
    std::vector<std::uint64_t> blocks;
    const std::uint64_t end = vms[vm].offset[i] + vms[vm].length[i];
    for (std::uint64_t b = vms[vm].offset[i] / 4096; vms[vm].length[i] > 0 && b * 4096 < end; ++b) {
      blocks.push_back(b);
    }
    ASSERT_EQ(a.blocks_of(r).size(), blocks.size());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const auto [it, fresh] = meaning.try_emplace(a.blocks_of(r)[k], vm, blocks[k]);
      EXPECT_EQ(it->second, std::pair(vm, blocks[k]));
    }
  }
  std::map<std::pair<VmId, std::uint64_t>, BlockId> inverse;
  for (const auto& [id, key] : meaning) {
    EXPECT_TRUE(inverse.emplace(key, id).second);
    EXPECT_EQ(a.block_address[id], key.second * 4096);
  }
  EXPECT_EQ(a.block_address.size(), a.id_count());
  EXPECT_EQ(meaning.size(), a.id_count());
}

// Blocks of a line that were not accessed have addresses, too.
TEST(AccessBuilder, KeepsTheAddressesOfBlocks) {
  Requests r;
  r.push(0, 0, Op::kRead, 9 * 4096 + 512, 4096);
  r.push(1, 0, Op::kRead, 4096, 512);
  EXPECT_THAT(interned({r}, {.addresses = true}).block_address,
              ElementsAre(9 * 4096, 10 * 4096, 4096));
  EXPECT_THAT(interned({r, r}, {.line_blocks = 4, .addresses = true}).block_address,
              ElementsAre(32768, 36864, 40960, 45056, 0, 4096, 8192, 12288, 32768, 36864, 40960,
                          45056, 0, 4096, 8192, 12288));
  EXPECT_THAT(interned({r}, {.key = BlockKey::kByteOffset, .addresses = true}).block_address,
              ElementsAre(9 * 4096 + 512, 4096));
  EXPECT_THAT(interned({r}, {.key = BlockKey::kObject, .addresses = true}).block_address,
              ElementsAre(9 * 4096 + 512, 4096));
  EXPECT_TRUE(interned({r}, {}).block_address.empty());
}

// Times of many requests of a VM: steady, in bursts of one instant, at the ends of time, or none.
std::vector<Nanoseconds> times_of(std::size_t vm, std::size_t most, Random& random) {
  constexpr Nanoseconds kLast = std::numeric_limits<Nanoseconds>::max();
  constexpr Nanoseconds kFirst = std::numeric_limits<Nanoseconds>::min() + 1;
  std::vector<Nanoseconds> times;
  const auto count = static_cast<std::size_t>(random.below(most + 1));
  const auto spread = std::uint64_t{1} << random.below(50);
  Nanoseconds at = vm % 5 == 0 ? -1000 : 1'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    if (vm % 3 > 0 || i % 50 == 0) at += static_cast<Nanoseconds>(random.below(spread));
    times.push_back(at);
  }
  if (vm % 7 == 0) times.insert(times.begin(), 2, kFirst);
  if (vm % 11 == 0) times.insert(times.end(), 2, kLast);
  return times;
}

void expect_in_order(const std::vector<std::vector<Nanoseconds>>& vms) {
  AccessBuilder builder({}, TimeBase::kClock);
  std::vector<std::pair<Nanoseconds, VmId>> expected;
  for (std::size_t v = 0; v < vms.size(); ++v) {
    Requests requests;
    for (std::size_t i = 0; i < vms[v].size(); ++i) {
      requests.push(vms[v][i], 0, Op::kRead, i * 4096, 4096);
      expected.emplace_back(vms[v][i], static_cast<VmId>(v));
    }
    ASSERT_TRUE(builder.begin_vm("vm" + std::to_string(v)).ok());
    ASSERT_TRUE(builder.add(requests.view()).ok());
  }
  std::ranges::sort(expected);
  const Accesses a = std::move(builder).finish().value();
  ASSERT_EQ(a.request_count(), expected.size());
  std::vector<std::uint32_t> next(vms.size());
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const auto [time, vm] = expected[r];
    ASSERT_EQ(a.request_time[r], time) << r;
    ASSERT_EQ(a.request_vm[r], vm) << r;
    ASSERT_EQ(a.ids[r], a.vms[vm].first_id + next[vm]++) << r;
  }
}

TEST(AccessBuilder, MergesAnyNumberOfVmsWithAnyTimes) {
  Random random(3);
  for (const auto& [vms, most] :
       {std::pair{0, 0}, {1, 60'000}, {3, 40'000}, {40, 3000}, {1500, 60}, {6000, 8}}) {
    SCOPED_TRACE(vms);
    std::vector<std::vector<Nanoseconds>> times;
    for (int v = 0; v < vms; ++v) {
      times.push_back(
          times_of(static_cast<std::size_t>(v), static_cast<std::size_t>(most), random));
    }
    expect_in_order(times);
  }
}

TEST(AccessBuilder, MergesMoreRequestsOfOneTimeThanItPutsInOrderAtOnce) {
  std::vector<std::vector<Nanoseconds>> times(20, std::vector<Nanoseconds>(5000, 7));
  times[3].assign(5000, 8);
  times[4].front() = times[5].front() = 6;
  times[6].back() = 9;
  expect_in_order(times);
}

TEST(AccessBuilder, SaysWhatIsWrong) {
  AccessBuilder builder({}, TimeBase::kClock);
  Requests r;
  EXPECT_EQ(message_of(builder.add(r.view())), "add: no VM was begun");
  EXPECT_TRUE(builder.begin_vm("web_0").ok());
  r.push(5, 0, Op::kRead, 0, 4096);
  r.push(2, 0, Op::kRead, 0, 4096);
  EXPECT_EQ(message_of(builder.add(r.view())),
            "web_0: request 1 is 3 ns earlier than the one before it: sort by time");
  Requests huge;
  huge.push(9, 0, Op::kRead, ~std::uint64_t{0}, 2);
  AccessBuilder other({}, TimeBase::kClock);
  EXPECT_TRUE(other.begin_vm("web_0").ok());
  EXPECT_EQ(message_of(other.add(huge.view())),
            "web_0: offset 18446744073709551615 + length 2 is beyond 2^64");
}

TEST(AccessBuilder, SaysWhatIsWrongWithResponseTimes) {
  const auto complaint = [](std::vector<Nanoseconds> response, TimeBase base) {
    AccessBuilder builder({.responses = true}, base);
    EXPECT_TRUE(builder.begin_vm("web_0").ok());
    Requests r;
    r.push(5, 0, Op::kRead, 0, 4096);
    r.push(6, 0, Op::kRead, 0, 4096);
    r.response = std::move(response);
    if (const absl::Status added = builder.add(r.view()); !added.ok()) return message_of(added);
    return message_of(std::move(builder).finish().status());
  };
  EXPECT_EQ(complaint({-1, 7}, TimeBase::kClock), "") << "one of them is enough";
  EXPECT_EQ(complaint({-1, -1}, TimeBase::kClock),
            "web_0: none of its 2 requests has a response time: expected a trace with a column of "
            "them");
  EXPECT_EQ(complaint({}, TimeBase::kClock), "web_0: 0 response times of 2 requests");
  EXPECT_EQ(complaint({3, -2}, TimeBase::kClock),
            "web_0: a request took -2 ns: expected a response time, or -1 for unknown");
  EXPECT_EQ(complaint({3, 3}, TimeBase::kIndex),
            "response times: a trace without a clock has none");
}

TEST(AccessBuilder, SaysWhatIsWrongWithClasses) {
  const auto complaint = [](std::vector<std::uint8_t> classes) {
    AccessBuilder builder({.classes = true}, TimeBase::kIndex);
    EXPECT_TRUE(builder.begin_vm("web_0").ok());
    Requests r;
    r.push(5, 0, Op::kRead, 0, 4096);
    r.push(6, 0, Op::kRead, 0, 4096);
    r.of_class = std::move(classes);
    return message_of(builder.add(r.view()));
  };
  EXPECT_EQ(complaint({7, 0}), "");
  EXPECT_EQ(complaint({}),
            "web_0: 0 classes of 2 requests: expected a trace with a column of them");
  EXPECT_EQ(complaint({7, 8}), "web_0: a request of class 8: expected 0 to 7");
}

// Pieces are of the class of the whole, and those of other operations take theirs with them.
TEST(AccessBuilder, CutsAndPicksClassesWithTheirRequests) {
  Requests r;
  r.push(5, 0, Op::kRead, 0, 3 * 4096, -1, 2);
  r.push(6, 0, Op::kWrite, 0, 4096, -1, 7);
  r.push(6, 1, Op::kRead, 0, 4096, -1, 5);
  r.push(7, 0, Op::kRead, 0, 4096, -1, 0);
  EXPECT_THAT(interned({r}, {.cut_bytes = 4096, .classes = true}).request_class,
              ElementsAre(2, 2, 2, 5, 0));
  AccessBuilder builder({.classes = true}, TimeBase::kClock);
  ASSERT_TRUE(builder.begin_vm("first").ok());
  ASSERT_TRUE(builder.add(r.view(), VmId{0}).ok());
  EXPECT_THAT(std::move(builder).finish().value().request_class, ElementsAre(2, 0));
}

// A piece of a request takes as long as the whole.
TEST(AccessBuilder, CutsResponseTimesWithTheirRequests) {
  Requests r;
  r.push(5, 0, Op::kRead, 0, 3 * 4096, 70);
  r.push(6, 0, Op::kRead, 0, 4096, 80);
  const Accesses a = interned({r}, {.cut_bytes = 4096, .responses = true});
  EXPECT_THAT(a.request_response, ElementsAre(70, 70, 70, 80));
}

// Bytes are those of the trace, whatever its blocks are; pieces have theirs, and add up.
TEST(AccessBuilder, CutsAndPicksBytesWithTheirRequests) {
  Requests r;
  r.push(5, 0, Op::kRead, 4000, 9000);
  r.push(6, 0, Op::kWrite, 0, 4097);
  r.push(6, 1, Op::kRead, 0, 512);
  r.push(7, 0, Op::kRead, 100, 0);
  r.push(8, 0, Op::kRead, 8192, 1);
  EXPECT_THAT(interned({r}, {.bytes = true}).request_bytes, ElementsAre(9000, 512, 0, 1));
  EXPECT_THAT(interned({r}, {.key = BlockKey::kByteOffset, .bytes = true}).request_bytes,
              ElementsAre(9000, 512, 0, 1));
  EXPECT_THAT(interned({r}, {.ops = OpFilter::kAll, .line_blocks = 8, .bytes = true}).request_bytes,
              ElementsAre(9000, 4097, 512, 0, 1));
  EXPECT_THAT(interned({r}, {.cut_bytes = 4096, .bytes = true}).request_bytes,
              ElementsAre(96, 4096, 4096, 712, 512, 0, 1));
}

// Bytes of a sample are those of its pieces, not of their requests.
TEST(AccessBuilder, SamplesBytesPieceByPiece) {
  Requests r;
  r.push(5, 0, Op::kRead, 1000, 400 * 4096);
  r.push(6, 0, Op::kRead, 1000, 400 * 4096);
  const Accesses a =
      interned({r}, {.cut_bytes = 4096, .sample_rate = 0.25, .sample_seed = 3, .bytes = true});
  ASSERT_GT(a.request_count(), 100U);
  ASSERT_LT(a.request_count(), 400U);
  const std::size_t half = a.request_count() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    EXPECT_EQ(a.request_bytes[i], a.request_bytes[half + i]);
    EXPECT_LE(a.request_bytes[i], 4096U);
  }
}

// Bytes in blocks are those between the block's begin and end.
TEST(AccessBuilder, KnowsTheBytesOfARequestInEachBlock) {
  Requests r;
  r.push(5, 0, Op::kRead, 4000, 9000);
  r.push(6, 0, Op::kRead, 8192, 4096);
  r.push(7, 0, Op::kRead, 100, 20);
  for (const auto key : {BlockKey::kAligned, BlockKey::kByteOffset, BlockKey::kObject}) {
    const Accesses a = interned({r}, {.key = key, .bytes = true});
    std::vector<Count> bytes;
    for (std::size_t i = 0; i < a.request_count(); ++i) {
      for (std::size_t block = 0; block < a.blocks_of(i).size(); ++block) {
        bytes.push_back(a.bytes_in_block(i, block));
      }
    }
    if (key == BlockKey::kAligned) {
      EXPECT_THAT(bytes, ElementsAre(96, 4096, 4096, 712, 4096, 20));
    }
    if (key == BlockKey::kByteOffset) {
      EXPECT_THAT(bytes, ElementsAre(4096, 4096, 808, 4096, 20));
    }
    if (key == BlockKey::kObject) {
      EXPECT_THAT(bytes, ElementsAre(9000, 4096, 20));
    }
  }
}

TEST(AccessBuilder, ReferencesObjectsOnceWhateverTheirLength) {
  Requests r;
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  r.push(0, 0, Op::kRead, 7, 0);
  r.push(1, 0, Op::kRead, last, 100'000);
  r.push(2, 0, Op::kDiscard, 7, 0);
  r.push(2, 0, Op::kDiscard, 8, 9'000);
  r.push(3, 0, Op::kRead, 7, 5'000);
  const Accesses a = interned({r}, {.key = BlockKey::kObject, .cut_bytes = 4096});
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(0, 1, 0));
  EXPECT_THAT(a.discards, ElementsAre(Discard{2, 0}));
  EXPECT_EQ(a.discard_requests, 2);
  EXPECT_EQ(a.given.accesses[0], 3);
}

TEST(AccessBuilder, DiscardsWholeBlocksThatWereReferenced) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const auto discarded = [](std::uint64_t offset, std::uint32_t length) {
    Requests r;
    for (const std::uint64_t block : {0U, 1U, 2U, 4U}) r.push(0, 0, Op::kRead, block * 4096, 1);
    r.push(0, 0, Op::kRead, kLast, 1);
    r.push(1, 0, Op::kDiscard, offset, length);
    r.push(2, 0, Op::kRead, 3 * 4096, 1);
    const Accesses a = interned({r});
    EXPECT_EQ(a.discard_requests, 1);
    EXPECT_EQ(a.vms[0].requests, 6);
    std::vector<std::uint32_t> blocks;
    for (const Discard& discard : a.discards) {
      EXPECT_EQ(discard.request, 5U);
      blocks.push_back(discard.block);
    }
    return blocks;
  };
  EXPECT_THAT(discarded(0, 5 * 4096), ElementsAre(0, 1, 2, 3)) << "3 has no reference yet";
  EXPECT_THAT(discarded(1, 2 * 4096), ElementsAre(1));
  EXPECT_THAT(discarded(0, 2 * 4096 + 4095), ElementsAre(0, 1));
  EXPECT_THAT(discarded(1, 4096), ElementsAre());
  EXPECT_THAT(discarded(4096, 4095), ElementsAre());
  EXPECT_THAT(discarded(4096, 4096), ElementsAre(1));
  EXPECT_THAT(discarded(4096, 0), ElementsAre());
  EXPECT_THAT(discarded(kLast - 4095, 4096), ElementsAre(4));
  EXPECT_THAT(discarded(kLast - 4094, 4095), ElementsAre());
}

// Discards by time, VM and position, which std::map's order restates.
TEST(AccessBuilder, MergesDiscardsInTheOrderOfRequests) {
  using Place = std::tuple<Nanoseconds, VmId, std::size_t>;
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<Requests> vms(1 + random.below(4));
    std::map<Place, std::pair<Op, std::uint64_t>> rows;
    for (std::size_t vm = 0; vm < vms.size(); ++vm) {
      Nanoseconds at = 0;
      for (std::size_t i = 0; i < 40; ++i) {
        at += static_cast<Nanoseconds>(random.below(3));
        const Op op{static_cast<std::uint8_t>(random.below(3))};
        const std::uint64_t block = random.below(6);
        vms[vm].push(at, 0, op, block * 4096, 4096);
        rows[{at, static_cast<VmId>(vm), i}] = {op, block};
      }
    }
    for (const OpFilter ops : {OpFilter::kReads, OpFilter::kAll}) {
      const Accesses a = interned(vms, {.ops = ops});
      std::map<std::pair<VmId, std::uint64_t>, BlockId> ids;
      std::vector<Discard> expected;
      std::size_t request = 0;
      for (const auto& [place, row] : rows) {
        const std::pair key{std::get<VmId>(place), row.second};
        if (row.first == Op::kDiscard) {
          if (ids.contains(key)) expected.push_back({request, ids[key]});
        } else if (ops == OpFilter::kAll || row.first == Op::kRead) {
          ids[key] = a.blocks_of(request++)[0];
        }
      }
      EXPECT_EQ(a.request_count(), request);
      EXPECT_EQ(a.discards, expected);
    }
  }
}

// Long and short discards among requests, against a std::map of the blocks of all lines so far.
TEST(AccessBuilder, LongDiscardsRemoveTheBlocksThatShortOnesWould) {
  constexpr std::uint64_t kBlock = 512;
  Random random(11);
  for (const std::uint32_t line : {1U, 4U}) {
    for (const std::uint64_t far : {std::uint64_t{0}, std::uint64_t{1} << 52}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<Requests> vms(2);
        std::vector<std::vector<std::uint64_t>> keys(2);  // of discards, by VM
        for (std::size_t vm = 0; vm < vms.size(); ++vm) {
          std::set<std::uint64_t> known;
          for (Nanoseconds at = 0; at < 300; ++at) {
            const std::uint64_t block = far + random.below(2000);
            if (random.below(4) > 0) {
              vms[vm].push(at, 0, Op::kRead, block * kBlock, kBlock);
              for (std::uint32_t i = 0; i < line; ++i) known.insert(block / line * line + i);
              continue;
            }
            const std::uint64_t blocks = random.below(2) == 0 ? random.below(70) : 1 << 20;
            const std::uint64_t begin = random.below(2) == 0 ? block : far;
            vms[vm].push(at, 0, Op::kDiscard, begin * kBlock + 1,
                         static_cast<std::uint32_t>((blocks + 1) * kBlock));
            const auto first = known.lower_bound(begin + 1);
            keys[vm].insert(keys[vm].end(), first, known.lower_bound(begin + 1 + blocks));
          }
        }
        const Accesses a = interned(vms, {.block_bytes = kBlock, .line_blocks = line});
        std::vector<std::vector<std::uint64_t>> got(2);
        std::map<std::uint32_t, std::uint64_t> key_of;
        std::array<std::size_t, 2> next{};
        for (std::size_t i = 0; i < a.request_count(); ++i) {
          const std::size_t vm = a.request_vm[i];
          while (vms[vm].op[next[vm]] != 0) ++next[vm];
          const std::uint64_t key = vms[vm].offset[next[vm]++] / kBlock;
          const std::uint32_t id = a.blocks_of(i)[0];
          for (std::uint32_t k = 0; k < line; ++k) {
            key_of[id - id % line + k] = key / line * line + k;
          }
        }
        for (const Discard& discard : a.discards) {
          const std::size_t vm = discard.block >= a.vms[1].first_id ? 1 : 0;
          got[vm].push_back(key_of.at(discard.block));
        }
        EXPECT_EQ(got, keys) << line << ", " << far;
      }
    }
  }
}

// The blocks of a piece of 4 GiB, looked up one by one, would be 10^12.
TEST(AccessBuilder, DiscardsCostTheBlocksThatTheyRemove) {
  Requests r;
  r.push(0, 0, Op::kRead, 1 << 20, 4096);
  for (int i = 0; i < 1'000'000; ++i) r.push(1, 0, Op::kDiscard, 1ULL << 32, ~0U);
  r.push(2, 0, Op::kDiscard, 0, ~0U);
  const Accesses a = interned({r});
  EXPECT_THAT(a.discards, ElementsAre(Discard{1, 0}));
  EXPECT_EQ(a.discard_requests, 1'000'001);
}

TEST(AccessBuilder, TakesAsManyVmsAsThereAreNumbersFor) {
  AccessBuilder builder({}, TimeBase::kClock);
  Requests r;
  for (std::size_t vm = 0; vm < kMostVms; ++vm) {
    ASSERT_TRUE(builder.begin_vm("vm" + std::to_string(vm)).ok());
    r.clear();
    r.push(static_cast<Nanoseconds>(vm % 7), 0, Op::kRead, 4096 * (vm % 3), 4096);
    ASSERT_TRUE(builder.add(r.view()).ok());
  }
  EXPECT_EQ(message_of(builder.begin_vm("more")),
            "more: at most 65536 VMs can be replayed together");
  const Accesses a = std::move(builder).finish().value();
  EXPECT_EQ(a.vms.size(), kMostVms);
  EXPECT_EQ(a.request_count(), kMostVms);
  EXPECT_EQ(a.request_vm.back(), 65533);  // the last of those at 6 ns
}

TEST(AccessBuilder, TellsHowFarItIsWithinOneRequestAndStopsWhenToldTo) {
  Requests r;
  r.push(0, 0, Op::kRead, 0, 10'000'000);
  const ExpandOptions bytes{.block_bytes = 1};
  std::vector<Count> told;
  const auto remember = [&](Count done) {
    told.push_back(done);
    return told.size() < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  AccessBuilder builder(bytes, TimeBase::kClock);
  ASSERT_TRUE(builder.begin_vm("a").ok());
  EXPECT_EQ(builder.add(r.view(), std::nullopt, 0, remember), absl::CancelledError("enough"));
  EXPECT_THAT(told, ElementsAre(1 << 21, 2 << 21, 3 << 21));
  EXPECT_EQ(std::move(builder).finish().status(), absl::CancelledError("enough"));

  AccessBuilder whole(bytes, TimeBase::kClock);
  ASSERT_TRUE(whole.begin_vm("a").ok());
  ASSERT_TRUE(whole.add(r.view()).ok());
  const Accesses a = std::move(whole).finish().value();
  EXPECT_EQ(a.access_count(), 10'000'000);
  EXPECT_EQ(a.ids.back(), 9'999'999U);
}

// A chunk whose third request is refused has two requests in the builder, without ids.
TEST(AccessBuilder, ReturnsTheErrorOfARefusedRequestFromThenOn) {
  constexpr Nanoseconds kMost = std::numeric_limits<Nanoseconds>::max();
  const auto third = [](Nanoseconds time, std::uint8_t op, std::uint64_t offset) {
    Requests r;
    r.push(0, 0, Op::kRead, 0, 4096);
    r.push(1, 0, Op::kRead, 4096, 1 << 20);
    r.push(time, 0, Op::kRead, offset, 4096);
    r.op.back() = op;
    return r;
  };
  Requests valid;
  valid.push(2, 0, Op::kRead, 8192, 4096);
  for (const Requests& wrong : {third(0, 0, 0), third(2, 9, 0), third(kMost, 0, 0),
                                third(2, 0, std::numeric_limits<std::uint64_t>::max())}) {
    AccessBuilder builder({}, TimeBase::kClock);
    ASSERT_TRUE(builder.begin_vm("a").ok());
    const absl::Status error = builder.add(wrong.view(), std::nullopt, 1);
    ASSERT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(builder.add(valid.view()), error);
    EXPECT_EQ(builder.begin_vm("b"), error);
    EXPECT_EQ(builder.arrive(0), error);
    EXPECT_EQ(builder.depart(9), error);
    EXPECT_EQ(std::move(builder).finish().status(), error);
  }
}

TEST(AccessBuilder, FailsOnceItIsFinished) {
  Requests r;
  r.push(0, 0, Op::kRead, 0, 4096);
  AccessBuilder builder({}, TimeBase::kClock);
  ASSERT_TRUE(builder.begin_vm("a").ok());
  ASSERT_TRUE(builder.add(r.view()).ok());
  ASSERT_TRUE(std::move(builder).finish().ok());
  const auto fails = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kFailedPrecondition;
  };
  EXPECT_TRUE(fails(std::move(builder).finish().status()));
  EXPECT_TRUE(fails(builder.add(r.view())));
  EXPECT_TRUE(fails(builder.begin_vm("b")));
}

// Discards and filtered writes have times, too.
TEST(AccessBuilder, ChecksTheOrderOfTimesAcrossChunks) {
  for (const Op first : {Op::kRead, Op::kWrite, Op::kDiscard}) {
    Requests one, two;
    one.push(10, 0, first, 0, 4096);
    two.push(9, 0, Op::kRead, 0, 4096);
    AccessBuilder builder({.ops = OpFilter::kReads}, TimeBase::kClock);
    ASSERT_TRUE(builder.begin_vm("a").ok());
    ASSERT_TRUE(builder.add(one.view()).ok());
    EXPECT_EQ(builder.add(two.view()).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(AccessBuilder, RefusesWhatNoTraceHolds) {
  AccessBuilder builder({}, TimeBase::kClock);
  EXPECT_EQ(message_of(builder.begin_vm("")),
            "the name of a VM must be text in UTF-8, without control characters, got ''");
  ASSERT_TRUE(builder.begin_vm("a").ok());
  Requests r;
  r.push(1, 0, Op::kRead, 0, 4096);
  r.op[0] = 200;
  EXPECT_EQ(message_of(builder.add(r.view())), "a: request 0: unknown operation 200");
  r.op[0] = 0;
  AccessBuilder other({}, TimeBase::kClock);
  ASSERT_TRUE(other.begin_vm("a").ok());
  EXPECT_EQ(message_of(other.add(r.view(), std::nullopt, std::numeric_limits<Nanoseconds>::max())),
            "a: request 0: time 1 + 9223372036854775807 is beyond 64 bits");
}

TEST(AccessBuilder, TakesOneVmOfAFileThatHoldsSeveral) {
  Requests r;
  r.push(0, 3, Op::kRead, 0, 4096);
  r.push(1, 4, Op::kRead, 4096, 4096);
  AccessBuilder builder({}, TimeBase::kClock);
  EXPECT_TRUE(builder.begin_vm("only").ok());
  ASSERT_TRUE(builder.add(r.view(), VmId{4}, 10).ok());
  const Accesses a = std::move(builder).finish().value();
  EXPECT_THAT(a.request_time, ElementsAre(11));
}

// Two VMs with warm-up requests on blocks that later requests access, too.
absl::StatusOr<Accesses> with_warm_up(Nanoseconds shift) {
  AccessBuilder builder({.ops = OpFilter::kAll}, TimeBase::kClock);
  for (const char* vm : {"a", "b", "c"}) {
    Requests before;
    before.push(0, 0, Op::kRead, 0, 8192);
    before.push(5, 0, Op::kRead, 4096, 4096);
    Requests after;
    after.push(20, 0, Op::kRead, 4096, 8192);
    EXPECT_TRUE(builder.begin_vm(vm).ok());
    if (vm != std::string_view("b")) {
      EXPECT_TRUE(builder.add(before.view(), std::nullopt, shift).ok());
      builder.end_warm_up();
    }
    EXPECT_TRUE(builder.add(after.view()).ok());
  }
  return std::move(builder).finish();
}

TEST(AccessBuilder, KnowsBlocksFromTheWarmUpAndDoesNotCountIt) {
  const Accesses a = with_warm_up(-100).value();
  EXPECT_EQ(a.warm_up, 4U);
  EXPECT_THAT(a.request_time, ElementsAre(-100, -100, -95, -95, 20, 20, 20));
  EXPECT_THAT(numbers_of(a.request_vm), ElementsAre(0, 2, 0, 2, 0, 1, 2));
  EXPECT_THAT(numbers_of(a.ids), ElementsAre(0, 1, 5, 6, 1, 6, 1, 2, 3, 4, 6, 7));
  for (const VmInfo& vm : a.vms) {
    EXPECT_EQ(vm.requests, 1);
    EXPECT_EQ(vm.accesses, 2);
  }
  EXPECT_EQ(a.vms[0].unique_blocks, 3);
}

TEST(AccessBuilder, RefusesAWarmUpThatIsNotOver) {
  EXPECT_TRUE(with_warm_up(14).ok());
  EXPECT_EQ(message_of(with_warm_up(15).status()), "warm-up: must end before the first request");
}

TEST(AccessBuilder, KeepsWhenVmsArrive) {
  for (const bool whole_seconds : {false, true}) {
    AccessBuilder builder({.ops = OpFilter::kReads, .whole_seconds = whole_seconds},
                          TimeBase::kClock);
    EXPECT_EQ(message_of(builder.arrive(0)), "arrive: no VM was begun");
    const auto add = [&](const char* name, std::optional<Nanoseconds> arrives, Nanoseconds first) {
      EXPECT_TRUE(builder.begin_vm(name).ok());
      if (arrives) {
        EXPECT_TRUE(builder.arrive(*arrives).ok());
      }
      Requests requests;
      requests.push(first, 0, Op::kWrite, 0, 4096);
      requests.push(first + 1, 0, Op::kRead, 0, 4096);
      return message_of(builder.add(requests.view()));
    };
    EXPECT_EQ(add("always", {}, kSecond / 2), "");
    EXPECT_EQ(message_of(builder.arrive(0)), "always: its arrival comes before its requests");
    EXPECT_EQ(add("late", 2 * kSecond, 5 * kSecond), "");
    EXPECT_EQ(add("as it begins", kSecond / 2, 3 * kSecond), "");
    const Accesses a = std::move(builder).finish().value();
    builder = AccessBuilder({.ops = OpFilter::kReads}, TimeBase::kClock);
    EXPECT_EQ(add("too early", 7 * kSecond, 7 * kSecond - 4),
              "too early: request 0 is 4 ns before it arrives");
    constexpr Nanoseconds kFromTheStart = std::numeric_limits<Nanoseconds>::min();
    EXPECT_EQ(a.vms[0].arrives, kFromTheStart);
    // 1.5 s after the first request, which was no read.
    EXPECT_EQ(a.vms[1].arrives, whole_seconds ? kSecond : 2 * kSecond);
    EXPECT_EQ(a.vms[2].arrives, kFromTheStart);
  }
}

TEST(AccessBuilder, PutsDeparturesBeforeTheFirstRequestThatIsNotEarlier) {
  AccessBuilder builder({.ops = OpFilter::kAll, .whole_seconds = true}, TimeBase::kClock);
  const std::vector<std::pair<std::vector<Nanoseconds>, Nanoseconds>> vms{
      {{0, 10, 20, 30}, 31}, {{5, 6}, 10}, {{7}, 10}, {{1}, 2}};
  for (const auto& [times, departs] : vms) {
    Requests requests;
    for (const Nanoseconds time : times) requests.push(time, 0, Op::kRead, 0, 4096);
    EXPECT_TRUE(builder.begin_vm("vm").ok());
    ASSERT_TRUE(builder.add(requests.view()).ok());
    EXPECT_EQ(message_of(builder.depart(times.back())),
              "vm: it has a request 0 ns after it departs");
    ASSERT_TRUE(builder.depart(departs).ok());
  }
  const Accesses a = std::move(builder).finish().value();
  EXPECT_THAT(a.departures,
              ElementsAre(Departure{2, 3}, Departure{5, 1}, Departure{5, 2}, Departure{8, 0}));
}

}  // namespace
}  // namespace mcsim
