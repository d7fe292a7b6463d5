// Trusts: the law that a refused decision changes nothing, on a host that accepts all but
// placements.
#include "core/engine/run/apply.hpp"

#include <gtest/gtest.h>

#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

// Counts the changes that were made to it.
class ChangedHost final : public Host {
 public:
  int changes = 0;

  Actions supports() const override {
    return {Action::kTargets, Action::kAdmission, Action::kPlacements, Action::kWriteModes};
  }
  absl::Status resize(const Allocation&) override { return change(); }
  absl::Status set_admission(const std::vector<bool>&) override { return change(); }
  absl::Status set_write_modes(std::span<const WriteMode>) override { return change(); }
  absl::Status place(std::span<const Placement>) override {
    return invalid_argument("they do not fit");
  }

  void replay(const Accesses&, RequestRange) override {}
  absl::Status attach(const Observers&) override { return absl::OkStatus(); }
  void release(VmId) override {}
  void discard(std::span<const BlockId>) override {}
  std::vector<VmCounters> counters() const override { return {}; }
  absl::Status check_invariants() const override { return absl::OkStatus(); }

 private:
  absl::Status change() {
    ++changes;
    return absl::OkStatus();
  }
};

TEST(Apply, RefusesPlacementsBesideOtherActions) {
  const Allocation current(1, 2);
  const std::vector<Placement> placements{{.extent = 0, .tier = 0}};
  ChangedHost host;
  for (const Decision& decision :
       {Decision{.targets = current, .placements = placements},
        Decision{.admits = {true, false}, .placements = placements},
        Decision{.write_modes = {WriteMode::kBack, WriteMode::kBack}, .placements = placements}}) {
    EXPECT_FALSE(apply(decision, host.supports(), current, 0, host).ok());
    EXPECT_EQ(host.changes, 0);
  }
  EXPECT_TRUE(apply({.admits = {true, false}}, host.supports(), current, 0, host).ok());
  EXPECT_EQ(host.changes, 1);
}

}  // namespace
}  // namespace mcsim
