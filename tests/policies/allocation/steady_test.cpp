// Trusts: a twin that spells the rule out over Mattson's lists; what divides space best is
// best_division's, which has been held to all divisions there are.
#include "policies/allocation/steady.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/engine/run/run.hpp"
#include "optimizers/registry.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_trace;

constexpr Nanoseconds kInterval = 200;

std::shared_ptr<Optimizer> exact() { return optimizer_registry().make("exact", {}, {}).value(); }

RunResult run_steady(const Accesses& trace, const Machine& machine,
                     const Steady::Params& params = {}) {
  auto system = Steady::make(params, {.machine = machine, .interval = kInterval}).value();
  EXPECT_TRUE(system->use_optimizer(exact()).ok());
  const auto measured = characterise(trace, meter_specs(*system));
  EXPECT_TRUE(measured.ok()) << measured.status();
  auto result = run(trace, *system, *measured, aligned_cuts(trace.request_time, kInterval));
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// The rule on plain maps and lists.
class Twin {
 public:
  Twin(const Accesses& trace, const Machine& machine)
      : capacities_(capacities_of(machine)), optimizer_(exact()), current_(equal(trace, machine)) {
    space_ = std::accumulate(capacities_.begin(), capacities_.end(), Count{0});
    gains_.assign(capacities_.size(), 0.0);
    gains_.back() = 1;
    std::vector<naive::Keys> keys(trace.vms.size());
    std::vector<std::vector<std::size_t>> interval(trace.vms.size());
    for (std::size_t r = 0; r < trace.request_count(); ++r) {
      keys[trace.request_vm[r]].push_back(trace.ids[r]);
      interval[trace.request_vm[r]].push_back(
          static_cast<std::size_t>((trace.request_time[r] - trace.request_time[0]) / kInterval));
    }
    for (std::size_t v = 0; v < keys.size(); ++v) {
      const auto far = naive::distances(keys[v]);
      for (std::size_t i = 0; i < far.size(); ++i) {
        if (far[i] >= 0) ++found_[{interval[v][i], v}][far[i]];
      }
    }
    for (const double half_life : {0.5, 1.0, 2.0, 4.0, 16.0, 0.0}) {
      memories_.push_back({half_life, 0, {}, {}});
      for (const double reluctance : {0.0, 0.1, 0.5}) {
        followers_.push_back({memories_.size() - 1, reluctance, current_, 0, current_});
      }
    }
  }

  // Targets after the interval; those of before if nothing is decided.
  const Allocation& decide(std::size_t interval) {
    HitTable last{.unit = 1, .hits = {}};
    for (std::size_t v = 0; v < current_.vms(); ++v) {
      if (!found_[{interval, v}].empty()) {
        most_ = std::max(most_, std::min(space_, found_[{interval, v}].rbegin()->first + 1));
      }
    }
    for (std::size_t v = 0; v < current_.vms(); ++v) {
      auto& hits = last.hits.emplace_back(static_cast<std::size_t>(most_) + 1, 0.0);
      for (const auto& [far, count] : found_[{interval, v}]) {
        for (Count b = far + 1; b <= most_; ++b) hits[static_cast<std::size_t>(b)] += count;
      }
    }
    for (Follower& f : followers_) {
      f.score *= std::exp2(-1.0 / 8);
      for (std::size_t v = 0; v < f.division.vms(); ++v) {
        const Count before = all_of(f.before, v);
        const Count after = all_of(f.division, v);
        if (after <= before) {
          f.score += hits_at(last, v, after);
        } else {
          const double filled = hits_at(last, v, after) - static_cast<double>(after - before);
          f.score += std::max(hits_at(last, v, before), filled);
        }
      }
      f.before = f.division;
    }
    for (Memory& m : memories_) {
      const double fade = m.half_life > 0 ? std::pow(2, -1 / m.half_life) : 1;
      if (m.sums.hits.empty()) m.sums = {1, decltype(m.sums.hits)(last.hits.size())};
      for (std::size_t v = 0; v < last.hits.size(); ++v) {
        const double before = m.sums.hits[v].empty() ? 0.0 : m.sums.hits[v].back();
        m.sums.hits[v].resize(last.hits[v].size(), before);
        for (std::size_t i = 0; i < last.hits[v].size(); ++i) {
          m.sums.hits[v][i] = fade * m.sums.hits[v][i] + last.hits[v][i];
        }
      }
      m.weight = fade * m.weight + 1;
      m.best = best_division(m.sums, capacities_, gains_, *optimizer_).value().targets;
    }
    for (Follower& f : followers_) {
      const Memory& m = memories_[f.memory];
      const double gain = (worth(m.sums, m.best) - worth(m.sums, f.division)) / m.weight;
      if (gain <= f.reluctance * grown(f.division, m.best)) continue;
      f.division = m.best;
    }
    std::size_t leader = 0;
    for (std::size_t i = 1; i < followers_.size(); ++i) {
      if (followers_[i].score > followers_[leader].score) leader = i;
    }
    const Follower& f = followers_[leader];
    const Memory& m = memories_[f.memory];
    const double gain = (worth(m.sums, f.division) - worth(m.sums, current_)) / m.weight;
    if (gain > f.reluctance * grown(current_, f.division)) current_ = f.division;
    return current_;
  }

 private:
  struct Memory {
    double half_life;
    double weight;
    HitTable sums;
    Allocation best;
  };
  struct Follower {
    std::size_t memory;
    double reluctance;
    Allocation division;
    double score;
    Allocation before;
  };

  static Allocation equal(const Accesses& trace, const Machine& machine) {
    Allocation parts(machine.tiers.size(), trace.vms.size());
    for (std::size_t k = 0; k < parts.tiers(); ++k) {
      const auto vms = static_cast<Count>(parts.vms());
      const Count blocks = machine.tiers[k].capacity_blocks;
      for (Count v = 0; v < vms; ++v) {
        parts.at(k, static_cast<std::size_t>(v)) = blocks / vms + (v < blocks % vms ? 1 : 0);
      }
    }
    return parts;
  }

  static Count all_of(const Allocation& of, std::size_t v) {
    Count blocks = 0;
    for (std::size_t k = 0; k < of.tiers(); ++k) blocks += of.at(k, v);
    return blocks;
  }
  static double hits_at(const HitTable& table, std::size_t v, Count blocks) {
    const std::vector<double>& hits = table.hits[v];
    return hits[std::min(static_cast<std::size_t>(blocks), hits.size() - 1)];
  }
  static double worth(const HitTable& table, const Allocation& division) {
    double sum = 0;
    for (std::size_t v = 0; v < division.vms(); ++v) {
      sum += hits_at(table, v, all_of(division, v));
    }
    return sum;
  }
  static double grown(const Allocation& from, const Allocation& to) {
    double sum = 0;
    for (std::size_t v = 0; v < to.vms(); ++v) {
      sum += static_cast<double>(std::max<Count>(0, all_of(to, v) - all_of(from, v)));
    }
    return sum;
  }

  std::vector<Count> capacities_;
  std::shared_ptr<Optimizer> optimizer_;
  Allocation current_;
  Count space_ = 0;
  Count most_ = 0;
  std::vector<double> gains_;
  std::map<std::pair<std::size_t, std::size_t>, std::map<Count, double>> found_;
  std::vector<Memory> memories_;
  std::vector<Follower> followers_;
};

TEST(Steady, DecidesAsItsTwin) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Accesses trace = random_trace(5'000, 3, 60, seed);
    const Machine machine = machine_of({7, 20});
    Twin twin(trace, machine);
    const RunResult result = run_steady(trace, machine);
    Allocation expected;
    for (std::size_t interval = 0; interval + 1 < result.intervals.size(); ++interval) {
      expected = twin.decide(interval);
      for (std::size_t v = 0; v < 3; ++v) {
        for (std::size_t k = 0; k < 2; ++k) {
          EXPECT_EQ(result.intervals[interval + 1][v].tiers[k].target, expected.at(k, v))
              << "seed " << seed << ", interval " << interval;
        }
      }
    }
    EXPECT_FALSE(result.decisions.empty());
  }
}

// Two VMs that change places every six intervals, and one whose loop never fits.
Accesses changing() {
  std::vector<VmId> vm;
  std::vector<std::uint64_t> block;
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    const std::uint64_t turn = i / (6 * kInterval) % 2;
    vm.push_back(static_cast<VmId>(i % 4 == 0 ? 2 : turn));
    block.push_back(i % 4 == 0 ? i % 997 : i % 31);
  }
  return testing::trace_of(vm, block);
}

TEST(Steady, GivesSpaceToWhoeverLoopsAndNoneToWhatNeverFits) {
  const RunResult result = run_steady(changing(), machine_of({36}));
  const auto& late = result.intervals[5];
  EXPECT_GE(late[0].tiers[0].target, 31);
  const auto& swapped = result.intervals[11];
  EXPECT_GE(swapped[1].tiers[0].target, 31);
}

TEST(Steady, StandsStillWhereNothingChanges) {
  std::vector<VmId> vm;
  std::vector<std::uint64_t> block;
  for (std::uint64_t i = 0; i < 8'000; ++i) {
    vm.push_back(static_cast<VmId>(i % 2));
    block.push_back(i % 2 == 0 ? i / 2 % 20 : i / 2 % 300);
  }
  const RunResult result = run_steady(testing::trace_of(vm, block), machine_of({5, 20}));
  const Allocation& chosen = *result.decisions[0].decision.targets;
  EXPECT_GE(chosen.at(0, 0) + chosen.at(1, 0), 20);
  for (std::size_t i = 1; i < result.decisions.size(); ++i) {
    EXPECT_FALSE(result.decisions[i].decision.targets) << i;
    EXPECT_EQ(result.decisions[i].targets, chosen);
  }
}

TEST(Steady, NeedsAnOptimizer) {
  auto system = Steady::make({}, {.machine = machine_of({4})}).value();
  EXPECT_EQ(message_of(system->make_host(random_trace(10, 1, 3, 1)).status()),
            "steady: needs an optimizer");
}

}  // namespace
}  // namespace mcsim
