// Trusts: the law that of a decision that is refused nothing is done: what was counted stays, and
// the rest of the trace is served without the decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/engine/run/run.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

constexpr VmId kVms = 3;
constexpr Nanoseconds kLast = 6'000;

// Requests of one to three blocks, two fifths of them writes, one every three nanoseconds; half
// of them ask for a tenth of a VM's blocks.
Accesses random_trace() {
  std::vector<Requests> of_vms(kVms);
  for (VmId vm = 0; vm < kVms; ++vm) {
    Random random(vm);
    for (auto time = static_cast<Nanoseconds>(vm); time <= kLast; time += 3 * kVms) {
      const std::uint64_t first = random.below(random.below(2) == 0 ? 4 : 40);
      const auto bytes = static_cast<std::uint32_t>(4096 * (1 + random.below(3)));
      const Op op = random.below(5) < 2 ? Op::kWrite : Op::kRead;
      of_vms[vm].push(time, vm, op, 4096 * first, bytes);
    }
  }
  return testing::interned(of_vms);
}

// All that is counted, VM by VM.
using Counted = std::vector<testing::Numbers>;
Counted numbers(const std::vector<VmCounters>& vms) {
  Counted all;
  for (const VmCounters& of : vms) all.push_back(testing::numbers(of));
  return all;
}

// Counts of a host at the end of its run, and after the whole trace.
struct Left {
  Counted then;
  Counted in_the_end;
};

// Forwards all calls, and replays the remaining trace at its end.
class Watched final : public testing::HostAround {
 public:
  Watched(std::unique_ptr<Host> host, const Accesses& trace, Left& left)
      : HostAround(std::move(host)), trace_(trace), left_(left) {}
  ~Watched() override {
    left_.then = numbers(host_->counters());
    host_->replay(trace_, {at_, trace_.request_count()});
    left_.in_the_end = numbers(host_->counters());
    EXPECT_TRUE(host_->check_invariants().ok()) << host_->check_invariants();
  }

  void replay(const Accesses& trace, RequestRange range) override {
    host_->replay(trace, range);
    at_ = range.end;
  }

 private:
  const Accesses& trace_;
  Left& left_;
  std::size_t at_ = 0;
};

// Decides twice on two hosts, of which the second has vm1 alone at first.
class Deciding final : public System {
 public:
  Deciding(Decision first, std::optional<Decision> second)
      : decisions_{std::move(first), std::move(second)} {}

  std::vector<Timer> timers() const override {
    return {{.name = "timer", .clock = {.period = kLast / 3 + 1}}};
  }
  Actions actions() const override { return kAll; }
  Actions host_supports() const override { return kAll; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    Machine machine = machine_of({8, 30});
    machine.fleet.hosts = {"h0", "h1"};
    machine.fleet.host_of_vm = {{"vm1", 1}};
    machine.fleet.link = {.latency_ns = 1'000, .blocks_per_second = 1e8};
    DataPathParams params;
    params.chain = Chain::kInclusive;
    params.writes = "back";
    const Division division = one_part_each(granted(2), {.mode = ResizeMode::kEager});
    MCSIM_ASSIGN_OR_RETURN(auto host, make_data_path(params, machine, trace, division, 1));
    return std::make_unique<Watched>(std::move(host), trace, left);
  }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    saw = numbers({seen.counters.begin(), seen.counters.end()});
    return decisions_[seen.interval];
  }

  static Allocation granted(Count blocks) {
    Allocation targets(2, kVms);
    for (std::size_t vm = 0; vm < kVms; ++vm) {
      targets.at(0, vm) = blocks;
      targets.at(1, vm) = 4 * blocks;
    }
    return targets;
  }

  Counted saw;  // as it decided last
  Left left;

 private:
  static constexpr Actions kAll{Action::kTargets, Action::kWriteModes, Action::kWriteModesByTier,
                                Action::kAdmission, Action::kMigrations};
  std::array<std::optional<Decision>, 2> decisions_;
};

ModesByTier modes(WriteMode first, WriteMode second) {
  return {std::vector(kVms, first), std::vector(kVms, second)};
}

// One decision is followed, so that a cache is on its way; then comes one that is right but for
// what a test makes wrong.
class RefusedDecisions : public ::testing::Test {
 protected:
  absl::Status decide(std::optional<Decision> second) {
    const Decision first{.targets = Deciding::granted(2),
                         .write_modes_by_tier = modes(WriteMode::kThrough, WriteMode::kBack),
                         .admits = {true, true, false},
                         .migrations = {{.vm = 0, .host = 1, .blocks_per_second = 5e5}}};
    Deciding system(first, std::move(second));
    const auto result = run(trace, system, {}, aligned_cuts(trace.request_time, 1'000));
    saw = system.saw;
    left = system.left;
    return result.status();
  }

  // Message for the decision, which has no effect.
  template <class Mistake>
  std::string refused(Mistake mistake) {
    Decision decision = right;
    mistake(decision);
    const absl::Status status = decide(decision);
    EXPECT_EQ(left.then, saw) << status;
    EXPECT_EQ(left.in_the_end, undisturbed()) << status;
    return message_of(status);
  }

  const Counted& undisturbed() {
    if (undisturbed_.empty()) {
      const Left before = left;
      EXPECT_EQ(decide(std::nullopt), absl::OkStatus());
      undisturbed_ = std::exchange(left, before).in_the_end;
    }
    return undisturbed_;
  }

  const Accesses trace = random_trace();
  const Decision right{.targets = Deciding::granted(3),
                       .write_modes_by_tier = modes(WriteMode::kAround, WriteMode::kThrough),
                       .admits = {false, true, true},
                       .migrations = {{.vm = 0, .host = 0, .keep = false}, {.vm = 2, .host = 1}}};
  Counted saw;
  Left left;

 private:
  Counted undisturbed_;
};

TEST_F(RefusedDecisions, WouldHaveChangedAllIfTheyHadBeenRight) {
  EXPECT_EQ(decide(right), absl::OkStatus());
  EXPECT_NE(left.in_the_end, undisturbed());
  for (int part = 0; part < 4; ++part) {
    Decision alone;
    if (part == 0) alone.targets = right.targets;
    if (part == 1) alone.write_modes_by_tier = right.write_modes_by_tier;
    if (part == 2) alone.admits = right.admits;
    if (part == 3) alone.migrations = right.migrations;
    EXPECT_EQ(decide(alone), absl::OkStatus());
    EXPECT_NE(left.in_the_end, undisturbed()) << "part " << part;
  }
}

TEST_F(RefusedDecisions, OfMigrationsLeaveAllAsItWas) {
  EXPECT_EQ(refused([](Decision& of) { of.migrations[1].host = 0; }),
            "migrations: vm2 is on host h0 already");
  EXPECT_EQ(refused([](Decision& of) { of.migrations[1].host = 2; }),
            "migrations: VM 2 of 3 to host 2 of 2");
  EXPECT_EQ(refused([](Decision& of) { of.migrations[1].vm = kVms; }),
            "migrations: VM 3 of 3 to host 1 of 2");
  EXPECT_EQ(refused([](Decision& of) { of.migrations.push_back({.vm = 0, .host = 0}); }),
            "migrations: vm0 is on host h0 already");
  EXPECT_EQ(refused([](Decision& of) { of.migrations[1].blocks_per_second = 1e9; }),
            "migrations: vm2: 1000000000 blocks per second exceed the 100000000 of the link");
  EXPECT_EQ(refused([](Decision& of) { of.targets->at(0, 1) = 6; }),
            "host h1: targets: tier 0 grants 9 blocks of 8");
  EXPECT_EQ(refused([](Decision& of) { of.targets->at(1, 2) = -1; }),
            "host h1: targets: tier 1 grants -1 blocks");
  EXPECT_EQ(refused([](Decision& of) { of.targets = Allocation(1, kVms); }),
            "targets: expected 2 tiers x 3 VMs, got 1 x 3");
}

TEST_F(RefusedDecisions, OfModesByTierLeaveAllAsItWas) {
  EXPECT_EQ(refused([](Decision& of) { of.write_modes_by_tier.pop_back(); }),
            "write modes by tier: expected 2 tiers x 3 VMs, got 1 x 3");
  EXPECT_EQ(refused([](Decision& of) { of.write_modes_by_tier[1].pop_back(); }),
            "write modes by tier: expected 2 tiers x 3 VMs, got 2 x 2");
  EXPECT_EQ(refused([](Decision& of) { of.write_modes_by_tier[0][2] = WriteMode::kBack; }),
            "in an inclusive chain a tier has what faster ones have: it cannot be written through "
            "below one that is written back; the order is around, through, back");
  EXPECT_EQ(refused([](Decision& of) { of.write_modes.assign(kVms, WriteMode::kThrough); }),
            "write modes: expected by VM or by tier and VM, got both");
}

TEST_F(RefusedDecisions, OfAnythingElseMoveNobody) {
  EXPECT_EQ(refused([](Decision& of) {
              of.write_modes_by_tier.clear();
              of.write_modes = {WriteMode::kThrough};
            }),
            "write modes: expected 3 VMs, got 1");
  EXPECT_EQ(refused([](Decision& of) { of.admits.pop_back(); }), "admits: expected 3 VMs, got 2");
  EXPECT_EQ(refused([](Decision& of) { of.placements = {{}}; }),
            "a decision changes placements; its system declares that it decides targets, "
            "write_modes, write_modes_by_tier, admits, migrations");
}

}  // namespace
}  // namespace mcsim
