#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/tiers/prefetcher.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Ids for the blocks of a trace and for all blocks that a prefetcher may add to them. The device of
// a VM ends with the last block that the trace accesses: no block after that has an id.
//
// The ids of a VM are in the order of addresses. So blocks with adjacent addresses have adjacent
// ids: they form runs. Cost: 4 bytes for each block and access of the trace.
class PrefetchIds {
 public:
  // Fails if the trace has no addresses of whole blocks, or needs too many ids.
  static absl::StatusOr<PrefetchIds> make(const Accesses& trace, const Prefetcher& prefetcher);

  // The trace with these ids instead of its own, without its discards.
  Accesses renumber(const Accesses& trace) const;
  // The id that replaces one of the trace.
  BlockId id_of(BlockId of_trace) const { return new_ids_[of_trace]; }
  // The id of the block at an address; none if it is outside of the runs.
  std::optional<BlockId> find(VmId vm, std::uint64_t address) const;
  // The end of the device of a VM with blocks, an address.
  std::uint64_t end_of(VmId vm) const { return runs_[first_run_[vm + std::size_t{1}] - 1].end; }

 private:
  struct Run {
    std::uint64_t begin;  // address
    std::uint64_t end;
    BlockId first_id;
  };

  PrefetchIds() = default;

  void add_vm(const Accesses& trace, const VmInfo& vm, const Prefetcher& prefetcher,
              const std::vector<std::uint32_t>& longest);
  void extend(std::uint64_t begin, std::uint64_t end, std::size_t first_run);

  std::vector<BlockId> new_ids_;           // by id of the trace
  std::vector<std::size_t> first_run_{0};  // by VM; one entry more than VMs
  std::vector<Run> runs_;
  std::uint64_t count_ = 0;  // of ids; may exceed the range of BlockId
};

}  // namespace mcsim
