// Trusts: the requests of one VM, interned without those of the others.
#include "core/trace/vm_accesses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/trace/interning/access_builder.hpp"

namespace mcsim {
namespace {

struct Made {
  Nanoseconds time;
  std::uint64_t block;
  std::uint32_t blocks;
  std::uint8_t op;
};

constexpr Nanoseconds kDeparts = 500;

std::vector<std::vector<Made>> made_requests(std::size_t vms) {
  Random random(7);
  std::vector<std::vector<Made>> streams(vms);
  for (Nanoseconds time = 0; time < 600; ++time) {
    const std::size_t vm = random.below(vms);
    if (vm == 1 && time >= kDeparts) continue;
    auto& stream = streams[vm];
    const auto op = static_cast<std::uint8_t>(random.below(10) == 0 ? 2 : random.below(2));
    stream.push_back({time, random.below(40), static_cast<std::uint32_t>(1 + random.below(4)), op});
  }
  return streams;
}

Accesses interned(const std::vector<std::vector<Made>>& streams, Nanoseconds warm_until) {
  AccessBuilder builder({.ops = OpFilter::kAll, .bytes = true}, TimeBase::kClock);
  for (std::size_t vm = 0; vm < streams.size(); ++vm) {
    EXPECT_TRUE(builder.begin_vm("vm " + std::to_string(vm)).ok());
    bool warm = true;
    for (const Made& made : streams[vm]) {
      if (warm && made.time >= warm_until) {
        builder.end_warm_up();
        warm = false;
      }
      const std::vector<Nanoseconds> time{made.time};
      const std::vector<VmId> of{0};
      const std::vector<std::uint8_t> op{made.op};
      const std::vector<std::uint64_t> offset{made.block * 4096};
      const std::vector<std::uint32_t> length{made.blocks * 4096};
      const RequestsView chunk{
          .time = time, .vm = of, .op = op, .offset = offset, .length = length, .response = {}};
      EXPECT_TRUE(builder.add(chunk).ok());
    }
    if (vm == 1) {
      EXPECT_TRUE(builder.depart(kDeparts).ok());
    }
  }
  return std::move(builder).finish().value();
}

template <class T>
std::vector<T> values(const SharedArray<T>& column) {
  return column.copy();
}

TEST(VmAccesses, AreThoseOfTheVmInternedAlone) {
  const auto streams = made_requests(3);
  const Accesses all = interned(streams, 100);
  for (VmId vm = 0; vm < 3; ++vm) {
    std::vector<std::int64_t> requests;
    for (std::size_t r = 0; r < all.request_count(); ++r) {
      if (all.request_vm[r] == vm) requests.push_back(static_cast<std::int64_t>(r));
    }
    const Accesses alone = vm_accesses(all, vm, requests).value();
    std::vector<std::vector<Made>> only(3);
    only[vm] = streams[vm];
    const Accesses expected = interned(only, 100);
    EXPECT_EQ(values(alone.ids), values(expected.ids));
    EXPECT_EQ(values(alone.request_begin), values(expected.request_begin));
    EXPECT_EQ(values(alone.request_time), values(expected.request_time));
    EXPECT_EQ(values(alone.request_vm), values(expected.request_vm));
    EXPECT_EQ(values(alone.request_op), values(expected.request_op));
    EXPECT_EQ(values(alone.request_bytes), values(expected.request_bytes));
    EXPECT_EQ(values(alone.request_head), values(expected.request_head));
    EXPECT_EQ(alone.discards, expected.discards);
    EXPECT_GT(alone.discards.size(), 0U);
    EXPECT_EQ(alone.warm_up, expected.warm_up);
    EXPECT_GT(alone.warm_up, 0U);
    EXPECT_EQ(alone.id_count(), expected.id_count());
    EXPECT_EQ(alone.given.accesses, expected.given.accesses);
    for (std::size_t other = 0; other < 3; ++other) {
      EXPECT_EQ(alone.vms[other].name, expected.vms[other].name);
      EXPECT_EQ(alone.vms[other].unique_blocks, expected.vms[other].unique_blocks);
      EXPECT_EQ(alone.vms[other].accesses, expected.vms[other].accesses);
    }
    EXPECT_EQ(alone.departures.size(), vm == 1 ? 1U : 0U);
  }
}

TEST(VmAccesses, RefuseRequestsOfOthers) {
  const Accesses all = interned(made_requests(2), 0);
  const std::int64_t first = all.request_vm[0] == 0 ? 0 : 1;
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{1 - first}, {first, first}, {-1}, {600'000}}) {
    EXPECT_FALSE(vm_accesses(all, 0, wrong).ok());
  }
  EXPECT_FALSE(vm_accesses(all, 2, {}).ok());
}

}  // namespace
}  // namespace mcsim
