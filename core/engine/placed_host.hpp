#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/block_owners.hpp"
#include "core/engine/host.hpp"
#include "core/engine/machine.hpp"

namespace mcsim {

// A request that touched an extent.
struct ExtentAccess {
  std::size_t extent;
  Op op;
  Count blocks;  // of the request that lie in the extent
  Count request_blocks;
};

// A host that caches nothing: every extent, which is a line of the trace, lives in one tier or in
// the backend, serves there what is asked of it, and moves when it is told to. What it brings in
// was read from where it was, what it takes out is written there; nothing is dirty, for there is
// one copy of everything.
class PlacedHost final : public Host {
 public:
  // Is shown every request, extent by extent.
  using Watch = std::function<void(const ExtentAccess&)>;

  PlacedHost(const Machine& machine, const Accesses& trace, Watch watch);

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override { return {Action::kPlacements}; }
  absl::Status resize(const Allocation& targets) override;
  absl::Status place(std::span<const Placement> moves) override;
  void release(std::size_t vm) override;
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

 private:
  std::size_t backend() const { return capacity_.size(); }
  std::size_t vm_of(std::size_t extent) const {
    return owners_.vm_of(static_cast<BlockId>(extent * extent_blocks_));
  }
  void serve(VmCounters& vm, Op op, std::size_t tier, Count blocks);
  void move(std::size_t extent, std::size_t to);

  std::size_t extent_blocks_;
  BlockOwners owners_;
  Watch watch_;
  std::vector<Count> capacity_;      // by tier, blocks
  std::vector<Count> held_;          // by tier, blocks
  std::vector<std::uint8_t> where_;  // by extent: its tier, or the backend
  std::vector<VmCounters> counters_;
};

}  // namespace mcsim
