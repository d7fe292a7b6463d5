// Trusts: the ranges of ids that VMs are given.
#include "core/engine/tiers/block_owners.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// VMs of few blocks, of many, and of none.
TEST(BlockOwners, AreThoseOfTheRangesOfIds) {
  Random random(7);
  for (const std::size_t vms : {1U, 2U, 9U, 300U}) {
    Accesses trace;
    BlockId next = 0;
    for (std::size_t vm = 0; vm < vms; ++vm) {
      const std::uint64_t most = random.below(3) == 0 ? 5'000 : 3;
      const auto blocks = static_cast<Count>(random.below(most)) + (vm + 1 == vms ? 1 : 0);
      trace.vms.push_back({.name = "", .first_id = next, .unique_blocks = blocks});
      next += blocks;
    }
    const BlockOwners owners(trace);
    for (std::size_t vm = 0; vm < vms; ++vm) {
      EXPECT_EQ(owners.first_of(vm), trace.vms[vm].first_id);
      for (BlockId id = owners.first_of(vm); id < owners.end_of(vm); ++id) {
        ASSERT_EQ(owners.vm_of(id), vm) << id;
      }
    }
    EXPECT_EQ(owners.end_of(vms - 1), next);
  }
}

}  // namespace
}  // namespace mcsim
