// Trusts: AccessBuilder, which gets one VM after the other. A file of accesses has all of them, so
// equal files are equal accesses.
#include "core/trace/interning/stream_interner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/base/random.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_file.hpp"
#include "tests/support/own_file.hpp"

namespace mcsim {
namespace {

std::string file_of(const Accesses& accesses) {
  const testing::OwnFile kept("stream_interner.accesses");
  EXPECT_TRUE(write_accesses(accesses, kept.path()).ok());
  std::ifstream file(kept.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_of(std::size_t vms) {
  std::vector<std::string> names;
  for (std::size_t v = 0; v < vms; ++v) names.push_back(fmt::format("vm{}", v));
  return names;
}

Accesses naively(const Requests& requests, std::size_t vms, const ExpandOptions& options) {
  AccessBuilder builder(options, TimeBase::kClock);
  for (std::size_t v = 0; v < vms; ++v) {
    EXPECT_TRUE(builder.begin_vm(fmt::format("vm{}", v)).ok());
    EXPECT_TRUE(builder.add(requests.view(), static_cast<VmId>(v)).ok());
  }
  return std::move(builder).finish().value();
}

// Adds requests in chunks of this size.
absl::StatusOr<Accesses> streamed(const Requests& requests, std::size_t vms,
                                  const ExpandOptions& options, std::size_t chunk) {
  StreamInterner interner(options);
  for (std::size_t begin = 0; begin < requests.size(); begin += chunk) {
    const auto part = [&](const auto& column) {
      return std::span(column).subspan(begin, std::min(chunk, requests.size() - begin));
    };
    MCSIM_ASSIGN_OR_RETURN(
        const bool is_plain,
        interner.add({part(requests.time), part(requests.vm), part(requests.op),
                      part(requests.offset), part(requests.length), part(requests.response)}));
    if (!is_plain) return absl::UnimplementedError("not plain");
  }
  return std::move(interner).finish(names_of(vms), TimeBase::kClock);
}

Requests drawn(std::size_t vms, std::size_t count, std::uint64_t apart, std::uint64_t blocks,
               std::uint64_t most_bytes) {
  Random random(vms + count);
  Requests requests;
  Nanoseconds at = -5;
  for (std::size_t i = 0; i < count; ++i) {
    at += static_cast<Nanoseconds>(random.below(apart));
    const auto op = random.below(4) == 0 ? Op::kWrite : Op::kRead;
    requests.push(at, static_cast<VmId>(random.below(vms)), op, random.below(blocks * 4096),
                  static_cast<std::uint32_t>(random.below(most_bytes)));
  }
  return requests;
}

TEST(StreamInterner, EqualsTheBuilderForAnyVmsTimesViewsAndChunks) {
  for (const std::size_t vms : {1, 2, 7, 300}) {
    for (const std::uint64_t apart : {1, 2, 1000}) {
      const Requests requests = drawn(vms, 40'000, apart, 20'000, 20'000);
      for (const ExpandOptions& options :
           {ExpandOptions{}, ExpandOptions{.ops = OpFilter::kAll, .bytes = true},
            ExpandOptions{.block_bytes = 3000, .ops = OpFilter::kAll, .addresses = true},
            ExpandOptions{.key = BlockKey::kObject, .bytes = true, .addresses = true}}) {
        const std::string expected = file_of(naively(requests, vms, options));
        for (const std::size_t chunk : {999, 40'000}) {
          const auto found = streamed(requests, vms, options, chunk);
          ASSERT_TRUE(found.ok()) << found.status();
          ASSERT_EQ(file_of(*found), expected) << vms << " VMs, " << apart << ", " << chunk;
        }
      }
    }
  }
}

TEST(StreamInterner, NumbersKeysOfAnySizeAndRequestsOfManyBlocks) {
  for (const std::size_t vms : {1, 3}) {
    Requests requests = drawn(vms, 5'000, 3, std::uint64_t{1} << (vms == 1 ? 51 : 47), 4096);
    requests.push(requests.time.back(), 0, Op::kRead, 4096, 1U << 30U);
    for (const ExpandOptions& options : {ExpandOptions{}, ExpandOptions{.addresses = true}}) {
      const auto found = streamed(requests, vms, options, 1'000);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(file_of(*found), file_of(naively(requests, vms, options)));
    }
  }
}

TEST(StreamInterner, KeepsTimesThatArePositionsUpToSomeRequest) {
  for (const int others_from : {0, 1, 5, 40'000, 70'000}) {
    for (const std::size_t vms : {1, 2}) {
      Requests requests;
      for (int i = 0; i < 50'000; ++i) {
        const Nanoseconds at = i < others_from ? i : i + 1;
        requests.push(at, static_cast<VmId>(i % vms), Op::kRead, i % 77U * 4096, 4096);
      }
      const auto found = streamed(requests, vms, {}, 20'000);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_EQ(file_of(*found), file_of(naively(requests, vms, {}))) << others_from;
    }
  }
}

TEST(StreamInterner, KeepsVmsWithoutRequests) {
  Requests requests;
  requests.push(1, 2, Op::kRead, 0, 4096);
  const auto found = streamed(requests, 4, {}, 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(file_of(*found), file_of(naively(requests, 4, {})));
}

TEST(StreamInterner, RefusesWhatNeedsABuilder) {
  const auto is_plain = [](Nanoseconds time, VmId vm, Op op, std::uint64_t offset) {
    Requests requests;
    requests.push(5, 0, Op::kRead, 0, 4096);
    requests.push(time, vm, op, offset, 4096);
    return streamed(requests, vm + std::size_t{1}, {}, 10).ok();
  };
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(is_plain(5, 0, Op::kWrite, kEnd - 4095));
  EXPECT_FALSE(is_plain(4, 0, Op::kRead, 0));
  EXPECT_FALSE(is_plain(5, 0, Op::kDiscard, 0));
  EXPECT_FALSE(is_plain(5, 0, Op::kRead, kEnd - 4094));
  constexpr std::uint64_t kFar = std::uint64_t{1} << 60;  // block 2^48
  EXPECT_TRUE(is_plain(5, 0, Op::kRead, kFar));
  EXPECT_TRUE(is_plain(5, 9, Op::kRead, kFar - 4096 * 2));
  EXPECT_FALSE(is_plain(5, 9, Op::kRead, kFar));
  EXPECT_FALSE(StreamInterner::supports({.line_blocks = 2}));
  EXPECT_FALSE(StreamInterner::supports({.key = BlockKey::kByteOffset}));
  EXPECT_FALSE(StreamInterner::supports({.responses = true}));
}

}  // namespace
}  // namespace mcsim
