#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/run/run.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"

// Systems by their names, and runs of them.
namespace mcsim::testing {

inline std::unique_ptr<System> make(const std::string& name, const ParamMap& params,
                                    const Machine& machine, Nanoseconds interval = 1'000,
                                    Nanoseconds warm_up = 0) {
  auto system = system_registry().make(
      name, params, {.machine = machine, .interval = interval, .warm_up = warm_up});
  EXPECT_TRUE(system.ok()) << system.status();
  if (const auto optimizer = (*system)->default_optimizer()) {
    EXPECT_TRUE(
        (*system)->use_optimizer(optimizer_registry().make(*optimizer, {}, {}).value()).ok());
  }
  return *std::move(system);
}

inline RunResult run_once(const Accesses& trace, System& system, const Cuts& cuts) {
  const auto measured = characterise(trace, meter_specs(system));
  EXPECT_TRUE(measured.ok()) << measured.status();
  auto result = run(trace, system, *measured, cuts);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// A run of a system of its own, its intervals counted apart.
inline RunResult replay(const std::string& name, const ParamMap& params, const Machine& machine,
                        const Accesses& trace, Nanoseconds interval = 1'000) {
  const auto system = make(name, params, machine, interval);
  return run_once(trace, *system, aligned_cuts(trace.request_time, interval));
}

// Hits in a tier by interval, of all VMs.
inline std::vector<Count> hits_of(const RunResult& result, std::size_t tier) {
  std::vector<Count> hits;
  for (const auto& interval : result.intervals) {
    hits.push_back(0);
    for (const VmCounters& vm : interval) hits.back() += vm.tiers[tier].hits;
  }
  return hits;
}

}  // namespace mcsim::testing
