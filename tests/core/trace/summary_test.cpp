// Trusts: sets of (vm, block) filled block by block, and sorted lists of sizes.
#include "core/trace/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

struct Naive {
  Count blocks = 0;
  Count read_blocks = 0;
  std::set<std::pair<VmId, std::uint64_t>> unique;
  std::set<std::pair<VmId, std::uint64_t>> unique_read;
  std::vector<std::uint32_t> sizes;

  void add(VmId vm, Op op, std::uint64_t offset, std::uint32_t length, std::uint64_t block_bytes) {
    sizes.push_back(length);
    if (length == 0) return;
    for (std::uint64_t b = offset / block_bytes; b <= (offset + length - 1) / block_bytes; ++b) {
      ++blocks;
      unique.insert({vm, b});
      if (op == Op::kWrite) continue;
      ++read_blocks;
      unique_read.insert({vm, b});
    }
  }

  double median() {
    std::ranges::sort(sizes);
    const std::size_t n = sizes.size();
    return (static_cast<double>(sizes[(n - 1) / 2]) + static_cast<double>(sizes[n / 2])) / 2;
  }
};

void expect_same(const VmSummary& got, Naive& naive) {
  EXPECT_EQ(got.requests, static_cast<Count>(naive.sizes.size()));
  EXPECT_EQ(got.blocks, naive.blocks);
  EXPECT_EQ(got.read_blocks, naive.read_blocks);
  EXPECT_EQ(got.unique_blocks, static_cast<Count>(naive.unique.size()));
  EXPECT_EQ(got.unique_read_blocks, static_cast<Count>(naive.unique_read.size()));
  EXPECT_EQ(got.median_request, naive.median());
  EXPECT_EQ(got.largest_request, std::ranges::max(naive.sizes));
}

TEST(Summary, AgreesWithSetsOfBlocks) {
  for (const std::uint32_t block_bytes : {512U, 4096U, 100'000U}) {
    Random random(block_bytes);
    TraceSummary summary(block_bytes);
    std::vector<Naive> naive(3);
    Naive all;
    for (int chunk = 0; chunk < 20; ++chunk) {
      Requests requests;
      for (int i = 0; i < 50; ++i) {
        const auto vm = static_cast<VmId>(random.below(3));
        const Op op = random.below(2) == 0 ? Op::kRead : Op::kWrite;
        const std::uint64_t offset = random.below(40) * 4096 + random.below(10);
        const auto length = static_cast<std::uint32_t>(random.below(6) * random.below(200'000));
        requests.push(i, vm, op, offset, length);
        naive[vm].add(vm, op, offset, length, block_bytes);
        all.add(vm, op, offset, length, block_bytes);
      }
      summary.add(requests.view());
    }
    const auto vms = summary.vms();
    ASSERT_EQ(vms.size(), 3U);
    for (std::size_t vm = 0; vm < 3; ++vm) expect_same(vms[vm], naive[vm]);
    expect_same(summary.total(), all);
  }
}

TEST(Summary, TheLastBlockOfTheAddressSpaceCounts) {
  TraceSummary summary(4096);
  Requests requests;
  requests.push(5, 0, Op::kRead, ~std::uint64_t{0}, 1);
  requests.push(3, 0, Op::kRead, 0, 0);
  summary.add(requests.view());
  const VmSummary vm = summary.vms().at(0);
  EXPECT_EQ(vm.unique_blocks, 1);
  EXPECT_EQ(vm.requests, 2);
  EXPECT_EQ(vm.first_time, 3);
  EXPECT_EQ(vm.last_time, 5);
  EXPECT_EQ(vm.bytes, 1U);
}

TEST(Summary, AVmWithoutRequestsIsEmpty) {
  TraceSummary summary(4096);
  Requests requests;
  requests.push(7, 1, Op::kWrite, 0, 4096);
  summary.add(requests.view());
  const auto vms = summary.vms();
  ASSERT_EQ(vms.size(), 2U);
  EXPECT_EQ(vms[0].requests, 0);
  EXPECT_EQ(vms[0].median_request, 0);
  EXPECT_EQ(summary.total().first_time, 7);
}

}  // namespace
}  // namespace mcsim
