#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/model/machine.hpp"

// Random operations on hosts, and all of their counts.
namespace mcsim::testing {

// Random targets: a minimum for each VM, and at most the capacity.
inline Allocation random_targets(const Machine& machine, std::size_t vms, Random& random,
                                 Count least = 0) {
  Allocation targets(machine.tiers.size(), vms);
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    Count left = machine.tiers[k].capacity_blocks - least * static_cast<Count>(vms);
    for (std::size_t vm = 0; vm < vms; ++vm) {
      const auto more = static_cast<Count>(random.below(static_cast<std::uint64_t>(left) + 1));
      targets.at(k, vm) = least + more;
      left -= more;
    }
  }
  return targets;
}

inline std::vector<WriteMode> random_modes(std::size_t vms, Random& random) {
  std::vector<WriteMode> modes(vms);
  for (WriteMode& mode : modes) mode = static_cast<WriteMode>(random.below(3));
  return modes;
}

// Any that the chain of the host, which has modes by tier, allows.
inline ModesByTier random_modes_by_tier(const Host& host, std::size_t tiers, std::size_t vms,
                                        Random& random) {
  ModesByTier modes(tiers);
  do {
    for (std::vector<WriteMode>& tier : modes) tier = random_modes(vms, random);
  } while (!host.check_write_modes_by_tier(modes).ok());
  return modes;
}

// Every other time all VMs.
inline std::vector<bool> random_gate(std::size_t vms, Random& random) {
  std::vector<bool> admits(vms, true);
  if (random.below(2) == 0) return admits;
  for (std::size_t vm = 0; vm < vms; ++vm) admits[vm] = random.below(2) == 0;
  return admits;
}

// Blocks of any VMs, a few at a time.
inline std::vector<BlockId> random_blocks(const Accesses& trace, Random& random) {
  std::vector<BlockId> blocks(1 + random.below(8));
  for (BlockId& block : blocks) block = BlockId(random.below(trace.id_count()));
  return blocks;
}

// Targets, if they may change, modes, blocked VMs, departures and discards; the same of one seed.
inline void decide_at_random(Host& host, const Machine& machine, const Accesses& trace,
                             bool changeable, std::uint64_t seed) {
  Random random(seed);
  const std::size_t vms = trace.vms.size();
  if (changeable && random.below(4) == 0) {
    ASSERT_TRUE(host.resize(random_targets(machine, vms, random)).ok());
  }
  if (random.below(4) == 0) {
    ASSERT_TRUE(host.set_write_modes(random_modes(vms, random)).ok());
  }
  if (host.supports().has(Action::kWriteModesByTier) && random.below(3) == 0) {
    const ModesByTier modes = random_modes_by_tier(host, machine.tiers.size(), vms, random);
    ASSERT_TRUE(host.set_write_modes_by_tier(modes).ok());
  }
  if (random.below(5) == 0) {
    ASSERT_TRUE(host.set_admission(random_gate(vms, random)).ok());
  }
  if (random.below(9) == 0) host.release(VmId(random.below(vms)));
  if (random.below(3) == 0) host.discard(random_blocks(trace, random));
}

// All that is counted of a VM, with names.
using Numbers = std::vector<std::pair<const char*, Count>>;
inline Numbers numbers(const VmCounters& of) {
  Numbers all;
  for (const auto& [name, total] : VmCounters::kTotals) all.emplace_back(name, of.*total);
  for (const auto& [name, level] : VmCounters::kLevels) all.emplace_back(name, of.*level);
  for (const TierCounters& tier : of.tiers) {
    for (const auto& [name, total] : TierCounters::kTotals) all.emplace_back(name, tier.*total);
    for (const auto& [name, level] : TierCounters::kLevels) all.emplace_back(name, tier.*level);
  }
  for (const Served* of_op : {&of.reads_served, &of.writes_served}) {
    for (const Count blocks : of_op->blocks) all.emplace_back("blocks served", blocks);
    for (const Count requests : of_op->requests) all.emplace_back("requests served", requests);
  }
  return all;
}

inline void expect_same(const std::vector<VmCounters>& ours,
                        const std::vector<VmCounters>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t vm = 0; vm < ours.size(); ++vm) {
    const Numbers mine = numbers(ours[vm]);
    const Numbers others = numbers(theirs[vm]);
    ASSERT_EQ(mine.size(), others.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      ASSERT_EQ(mine[i].second, others[i].second)
          << mine[i].first << ", the number " << i << " of VM " << vm;
    }
  }
}

inline void expect_same(CacheProbe& ours, CacheProbe& theirs) {
  const std::span<const ProbeReading> mine = ours.readings();
  const std::span<const ProbeReading> others = theirs.readings();
  ASSERT_EQ(mine.size(), others.size());
  for (std::size_t vm = 0; vm < mine.size(); ++vm) {
    EXPECT_EQ(mine[vm].distinct_hits, others[vm].distinct_hits) << "VM " << vm;
    EXPECT_EQ(mine[vm].touched, others[vm].touched) << "VM " << vm;
    ASSERT_EQ(mine[vm].peak, others[vm].peak) << "VM " << vm;
  }
}

// A host that forwards all calls; derived classes observe them.
class HostAround : public Host {
 public:
  explicit HostAround(std::unique_ptr<Host> host) : host_(std::move(host)) {}

  void replay(const Accesses& trace, RequestRange range) override { host_->replay(trace, range); }
  Actions supports() const override { return host_->supports(); }
  absl::Status resize(const Allocation& targets) override { return host_->resize(targets); }
  absl::Status migrate(std::span<const Migration> moves, const Allocation& targets,
                       Nanoseconds now) override {
    return host_->migrate(moves, targets, now);
  }
  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return host_->set_write_modes(modes);
  }
  absl::Status set_write_modes_by_tier(const ModesByTier& modes) override {
    return host_->set_write_modes_by_tier(modes);
  }
  absl::Status check_write_modes_by_tier(const ModesByTier& modes) const override {
    return host_->check_write_modes_by_tier(modes);
  }
  absl::Status set_admission(const std::vector<bool>& admits) override {
    return host_->set_admission(admits);
  }
  absl::Status attach(const Observers& observers) override { return host_->attach(observers); }
  void release(VmId vm) override { host_->release(vm); }
  void discard(std::span<const BlockId> blocks) override { host_->discard(blocks); }
  std::vector<VmCounters> counters() const override { return host_->counters(); }
  absl::Status check_invariants() const override { return host_->check_invariants(); }

 protected:
  std::unique_ptr<Host> host_;
};

}  // namespace mcsim::testing
