#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/hosts/kernels/kernel.hpp"
#include "core/engine/model/counters.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The replay loop of a chain of tiers that keep copies, all of them LRU in logs without filters. It
// is compiled for the chain and its number of tiers, and two to three times as fast as TieredHost's
// walk.
//
// Reads and writes follow the rules in TieredHost. A tier without a filter holds a block after an
// access unless it has no space. An insertion has at most one victim, possibly of another part.
// Requests of blocked VMs, and writes of VMs with different modes by tier, take the slow path.
class CopyChain final : public Kernel {
 public:
  static constexpr std::size_t kLeastTiers = 2;
  static constexpr std::size_t kMostTiers = 3;

  // Any chain but the exclusive one, of LRU tiers in logs.
  static bool can_serve(const KernelSetup& setup);
  explicit CopyChain(const KernelSetup& setup);

  bool serves(const Accesses&, RequestRange) const override { return true; }
  void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
              std::span<Found> found) override;
  void attach(const Observers& observers) override { probe_ = observers.probe; }

 private:
  template <Chain kChain, std::size_t kTiers, bool kProbe>
  class Loop;

  template <Chain kChain>
  void replay_as(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                 std::span<Found> found);

  Chain chain_;
  std::span<Tier> tiers_;
  const SlotTable& table_;
  std::span<const std::size_t> part_of_;
  std::vector<std::uint8_t> alone_;  // by VM: whether it has its part for itself
  const BlockOwners& owners_;
  const VmAdmission& admission_;
  DirtyTracker& dirty_;
  SlowPath& slow_path_;
  CacheProbe* probe_ = nullptr;
};

}  // namespace mcsim
