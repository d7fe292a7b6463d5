// Trusts: runs of a whole trace, by their own tests. Two runs, of which the second starts from the
// state of the first, count the same.
#include "core/engine/run/saved_state.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/eviction/all.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/own_file.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::expect_same;
using ::testing::HasSubstr;
using testing::machine_of;

constexpr Nanoseconds kInterval = 1'000;

struct Row {
  Nanoseconds time;
  VmId vm;
  Op op;
  std::uint64_t block;
};

// Reads and writes of skewed blocks; the second half also has other blocks than the first.
std::vector<Row> rows_of(std::size_t count, VmId vms) {
  std::vector<Row> rows;
  Random random(3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t blocks = random.below(2) == 0 ? 8 : 80;
    rows.push_back({.time = static_cast<Nanoseconds>(i),
                    .vm = static_cast<VmId>(random.below(vms)),
                    .op = random.below(3) == 0 ? Op::kWrite : Op::kRead,
                    .block = random.below(blocks) + (i > count / 2 ? 20 : 0)});
  }
  return rows;
}

Accesses trace_of(std::span<const Row> rows, VmId vms) {
  std::vector<Requests> of_vms(vms);
  for (const Row& row : rows) {
    of_vms[row.vm].push(row.time, row.vm, row.op, row.block * 4096, 4096);
  }
  return testing::interned(of_vms, {.ops = OpFilter::kAll, .bytes = true, .addresses = true});
}

template <class... Ps>
std::vector<std::string> savable_policies(TypeList<Ps...>) {
  std::vector<std::string> names;
  const auto add = [&]<class P>() {
    if (SavablePolicy<P>) names.emplace_back(P::kInfo.name);
  };
  (add.template operator()<Ps>(), ...);
  return names;
}

class SavedStates : public ::testing::Test {
 protected:
  absl::StatusOr<RunResult> run_of(const std::string& system, const ParamMap& params,
                                   const Accesses& trace, const StateFiles& files = {}) {
    const auto made = testing::make(system, params, machine_, kInterval);
    const auto measured = characterise(trace, meter_specs(*made));
    EXPECT_TRUE(measured.ok()) << measured.status();
    return run(trace, *made, *measured, aligned_cuts(trace.request_time, kInterval), nullptr,
               nullptr, files);
  }
  // Run both halves of the rows, the second from the state of the first, and compare their
  // intervals with those of the whole.
  void expect_halves(const std::string& system, const ParamMap& params, VmId vms) {
    const std::vector<Row> rows = rows_of(8'000, vms);
    const auto first = trace_of(std::span(rows).first(4'000), vms);
    const auto second = trace_of(std::span(rows).subspan(4'000), vms);
    const auto whole = run_of(system, params, trace_of(rows, vms));
    const auto one = run_of(system, params, first, {.to = path_});
    ASSERT_TRUE(one.ok()) << one.status();
    const auto two = run_of(system, params, second, {.from = path_});
    ASSERT_TRUE(two.ok()) << two.status();
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_EQ(one->intervals.size() + two->intervals.size(), whole->intervals.size());
    for (std::size_t i = 0; i < whole->intervals.size(); ++i) {
      const std::size_t in_second = i - std::min(i, one->intervals.size());
      const auto& half = i < one->intervals.size() ? one->intervals[i] : two->intervals[in_second];
      expect_same(half, whole->intervals[i]);
      if (::testing::Test::HasFatalFailure()) FAIL() << "in interval " << i;
    }
  }

  Machine machine_ = machine_of({10, 40});
  testing::OwnFile file_{"state"};
  std::string path_ = file_.path();
};

TEST_F(SavedStates, OfSystemsWithoutTimersContinue) {
  int systems = 0;
  for (const auto& entry : system_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    const auto made = system_registry().make(entry.info.name, {}, {.machine = machine_});
    if (!made.ok() || !(*made)->timers().empty()) continue;
    const std::string_view name = entry.info.name;
    if (name == "open-cas" || name == "zfs-arc" || name.starts_with("dm-")) {
      ParamMap params;
      if (name == "open-cas") params = {{"metadata", false}};
      if (name == "zfs-arc") params = {{"record_kib", Count{4}}, {"overflow_kib", Count{0}}};
      const auto refused =
          run_of(entry.info.name, params, trace_of(rows_of(100, 1), 1), {.to = path_});
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
      continue;
    }
    expect_halves(entry.info.name, {}, 3);
    ++systems;
  }
  EXPECT_GE(systems, 3);
}

TEST_F(SavedStates, OfEveryPolicyContinue) {
  for (const std::string& policy : savable_policies(AllEvictionPolicies{})) {
    SCOPED_TRACE(policy);
    // Sketches depend on the ids of blocks, which are the same for one VM.
    expect_halves("static", {{"policy", policy}, {"writes", std::string("back")}},
                  VmId(policy.ends_with("tinylfu") ? 1 : 3));
  }
}

TEST_F(SavedStates, OfFiltersDirtyLimitsAndFlushesContinue) {
  for (const char* filter :
       {"nth", "sequential(cutoff_bytes=8192)", "none/staged(mode=data)", "probability", "size"}) {
    SCOPED_TRACE(filter);
    expect_halves("static", {{"admission", std::string(filter)}}, 3);
  }
  expect_halves("static", {{"admission", std::string("tinylfu")}}, 1);
  expect_halves("static", {{"writes", std::string("back")}, {"dirty_limit", 0.2}}, 3);
  expect_halves("static", {{"writes", std::string("back")}, {"flush_every", std::int64_t{700}}}, 3);
  expect_halves("static", {{"chain", std::string("inclusive")}, {"writes", std::string("back")}},
                3);
}

TEST_F(SavedStates, AreRefusedWithTheReason) {
  const std::vector<Row> rows = rows_of(2'000, 2);
  const Accesses trace = trace_of(rows, 2);
  const auto refused = [&](const std::string& system, const ParamMap& params,
                           const StateFiles& files) {
    return message_of(run_of(system, params, trace, files).status());
  };
  EXPECT_THAT(refused("hindsight", {}, {.to = path_}), HasSubstr("decides while it runs"));
  EXPECT_THAT(refused("static", {{"policy", std::string("opt")}}, {.to = path_}),
              HasSubstr("opt uses the future, so its state cannot be saved"));
  ASSERT_EQ(refused("static", {}, {.to = path_, .setup = "static"}), "");
  EXPECT_EQ(refused("static", {}, {.from = path_, .setup = "lru"}),
            path_ + ": the state is one of static, not of lru");
  machine_ = machine_of({10, 41});
  EXPECT_THAT(refused("static", {}, {.from = path_, .setup = "static"}),
              HasSubstr("the state is one of 10 + 40 and 2 VMs, not of 10 + 41 and 2"));
  machine_ = machine_of({10, 40});
  const Accesses other = trace_of(rows, 3);
  EXPECT_THAT(message_of(run_of("static", {}, other, {.from = path_, .setup = "static"}).status()),
              HasSubstr("the state is one of 2 VMs, the trace has 3"));
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  EXPECT_THAT(refused("static", {}, {.from = path_, .setup = "static"}),
              HasSubstr("a checksum does not match"));
  std::ofstream(path_) << "no state at all, but text";
  EXPECT_THAT(refused("static", {}, {.from = path_, .setup = "static"}),
              HasSubstr("it begins with other bytes"));
}

// New blocks of one VM change the ids of the next one, and with them what a sketch counts together.
TEST_F(SavedStates, OfSketchesAreRefusedForOtherIds) {
  const std::vector<Row> rows = rows_of(2'000, 2);
  const auto first = std::span(rows).first(1'000);
  const auto second = std::span(rows).subspan(1'000);
  const Accesses before = trace_of(first, 2);
  const Accesses after = trace_of(second, 2);
  const ParamMap params{{"policy", std::string("w-tinylfu")}};
  ASSERT_TRUE(run_of("static", params, before, {.to = path_}).ok());
  const auto result = run_of("static", params, after, {.from = path_});
  EXPECT_THAT(message_of(result.status()), HasSubstr("this state depends on the ids of blocks"));
}

}  // namespace
}  // namespace mcsim
