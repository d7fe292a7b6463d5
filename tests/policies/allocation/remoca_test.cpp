// Trusts: the order of the two times.
#include "policies/allocation/remoca.hpp"

#include <gtest/gtest.h>

#include "policies/allocation/all.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

TEST(Remoca, RefusesAReturnBeforeTheFailure) {
  const auto made = system_registry().make(
      "remoca", {{"fails_at", std::int64_t{5}}, {"returns_at", std::int64_t{5}}},
      {.machine = machine_of({4, 4})});
  EXPECT_EQ(message_of(made.status()), "remoca: returns_at: expected to be later than fails_at");
}

}  // namespace
}  // namespace mcsim
