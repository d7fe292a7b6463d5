#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {

// Returns the class of a request.
using Classifier = std::function<std::size_t(const Accesses& trace, std::size_t request)>;

// Tiers shared by all VMs, in which blocks have classes: that of the last request that touched the
// block. A block is in one tier: it enters the fastest tier that accepts it, and victims are
// demoted. Classes below `always` enter every tier; other classes enter only tiers that are not
// full. The victim is the least recently used block of the highest class in the tier. Tiers without
// capacity are bypassed.
//
// Writes go through: the VM waits for the backend, and writes read nothing.
class ClassedHost final : public Host {
 public:
  ClassedHost(const Machine& machine, const Accesses& trace, std::size_t always,
              Classifier classifier);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override {
    backend_log_ = observers.log;
    return refuse_probe(observers);
  }
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status save(ArchiveWriter& to) override;
  absl::Status load(ArchiveReader& from) override;
  absl::Status check_invariants() const override;

 private:
  using Lists = SlotLists<kMaxTiers * kMostClasses>;

  static Lists::List list(std::size_t tier, std::size_t of_class) {
    return tier * kMostClasses + of_class;
  }
  std::size_t backend() const { return capacity_.size(); }
  // Serve an access; return the tier that had the block, or the backend.
  std::size_t access(VmId vm, Op op, BlockId block, std::size_t of_class);
  bool accepts(std::size_t tier, std::size_t of_class) const;
  // The first tier, starting with `tier`, that accepts the class, or the backend.
  std::size_t first_accepting(std::size_t tier, std::size_t of_class) const;
  void insert(std::size_t tier, BlockId block, std::size_t of_class);
  void evict_one(std::size_t tier);
  void invalidate(BlockId block);
  // Demote the block to the first slower tier that accepts it, or evict it.
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
