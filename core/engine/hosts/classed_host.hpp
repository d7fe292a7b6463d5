#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {

// What decides of which class a request of the trace is.
using Classifier = std::function<std::size_t(const Accesses& trace, std::size_t request)>;

// Tiers that all VMs share, in which a block is of the class of the request that touched it
// last. A block is in one tier: it comes into the fastest that takes it, and the victims go down.
// Classes below `always` come into every tier; the others only where there is room already. The
// victim is the least recently used block of the last class that the tier has. A tier of no blocks
// is bypassed.
//
// Writes go through: the VM waits for the backend, and nothing is read for them.
class ClassedHost final : public Host {
 public:
  ClassedHost(const Machine& machine, const Accesses& trace, std::size_t always,
              Classifier classifier);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  void attach_log(BackendLog& log) override { backend_log_ = &log; }
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  using Lists = SlotLists<kMaxTiers * kMostClasses>;

  static Lists::List list(std::size_t tier, std::size_t of_class) {
    return tier * kMostClasses + of_class;
  }
  std::size_t backend() const { return capacity_.size(); }
  // The tier that has the block, or the backend.
  std::size_t access(VmId vm, Op op, BlockId block, std::size_t of_class);
  bool takes(std::size_t tier, std::size_t of_class) const;
  // The first tier from this one on that takes the class, or the backend.
  std::size_t taker(std::size_t tier, std::size_t of_class) const;
  void insert(std::size_t tier, BlockId block, std::size_t of_class);
  void make_room(std::size_t tier);
  void invalidate(BlockId block);
  // To the first slower tier that takes it, or out.
  void push_down(std::size_t tier, BlockId block, std::size_t of_class);
  void remove(BlockId block);

  std::size_t always_;
  Classifier classifier_;
  BlockOwners owners_;
  std::vector<Count> capacity_;      // by tier, blocks
  std::vector<Count> held_;          // by tier, blocks
  Lists lists_;                      // by tier and class, of blocks
  std::vector<std::uint8_t> where_;  // by block: its tier, or the backend
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
