#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/containers/directory.hpp"
#include "core/engine/block_owners.hpp"
#include "core/engine/chain.hpp"
#include "core/engine/counters.hpp"
#include "core/engine/gate.hpp"
#include "core/engine/host_meters.hpp"
#include "core/engine/tier.hpp"
#include "core/engine/writes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// How a chain of tiers that keep copies serves accesses where all of them are LRU in logs: in a
// loop that is compiled for the chain and its number of tiers.
//
// It does what TieredHost says of reads and writes, for tiers that let in whatever they have room
// for. So a tier that lacks a block has it from then on, unless it has no room at all, and one
// block, maybe of another part, goes for one that comes in. Requests of VMs that are
// shut out, and what is written of those that write tiers in different modes, are left to the host.
class CopyChain {
 public:
  // More would be much code for chains that hardly anybody has: the host serves them.
  static constexpr std::size_t kMostTiers = 4;

  // Who serves what the loop does not.
  class Rest {
   public:
    // A request that is to be served as any.
    virtual void serve_singly(const Accesses& trace, std::size_t request) = 0;
    // What is new of a victim, whose VM writes tiers in different modes, goes on to slower ones;
    // whether one of them has the block then.
    virtual bool write_on(std::size_t from, VmId owner, BlockId block) = 0;

   protected:
    ~Rest() = default;
  };

  // Not an exclusive chain, of no more tiers than that; `part_of`: by VM. All of it outlives this.
  CopyChain(Chain chain, std::span<Tier> tiers, const SlotTable& table,
            std::span<const std::size_t> part_of, const BlockOwners& owners, const Gate& gate,
            WriteBook& book, Rest& rest);
  // They are told what becomes of every access from now on.
  void attach(HostMeters& meters) { meters_ = &meters; }

  // As BatchedChain's.
  using Found = std::array<std::array<Count, kMaxTiers + 1>, 2>;
  void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
              std::span<Found> found);

 private:
  template <Chain kChain, std::size_t kTiers, Told kTold>
  class Loop;

  template <Chain kChain>
  void replay_as(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                 std::span<Found> found);

  Chain chain_;
  std::span<Tier> tiers_;
  const SlotTable& table_;
  std::span<const std::size_t> part_of_;
  std::vector<std::uint8_t> alone_;  // by VM, whether no other is in its part
  const BlockOwners& owners_;
  const Gate& gate_;
  WriteBook& book_;
  Rest& rest_;
  HostMeters* meters_ = nullptr;
};

}  // namespace mcsim
