#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The blocks of a VM, from its first id on: their addresses (Accesses::block_address).
struct KnownVm {
  std::string name;
  std::uint64_t first_id = 0;
  std::vector<std::uint64_t> addresses;

  auto state() { return std::tie(name, first_id, addresses); }
};

// The blocks of a trace, so that a later trace can give them the same ids.
struct KnownBlocks {
  std::uint32_t block_bytes = 0;
  std::uint32_t line_blocks = 1;
  std::vector<KnownVm> vms;

  auto state() { return std::tie(block_bytes, line_blocks, vms); }
};

// Fails unless the trace keeps addresses.
absl::StatusOr<KnownBlocks> known_blocks(const Accesses& trace);

// Return the trace with other ids, as if it was interned together with an earlier one: each VM has
// the earlier blocks first, in their order, and then its new ones. The VMs must be the same. Fails
// if the trace has discards, since those of earlier blocks were dropped, or keeps no addresses.
absl::StatusOr<Accesses> continue_ids(const Accesses& trace, const KnownBlocks& before);

}  // namespace mcsim
