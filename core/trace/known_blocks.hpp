#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Addresses of the blocks of a trace, by id: any numbers that identify a block on its VM, such as
// byte offsets.
using BlockAddresses = std::span<const std::uint64_t>;

// The addresses of the blocks of a VM, from its first id on.
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

absl::StatusOr<KnownBlocks> known_blocks(const Accesses& trace, BlockAddresses addresses);

struct Continued {
  Accesses trace;
  std::vector<std::uint64_t> addresses;
};

// Return the trace with other ids, as if it was interned together with an earlier one: each VM has
// the earlier blocks first, in their order, and then its new ones. The VMs must be the same. Fails
// if the trace has discards, since those of earlier blocks were dropped.
absl::StatusOr<Continued> continue_ids(const Accesses& trace, BlockAddresses addresses,
                                       const KnownBlocks& before);

}  // namespace mcsim
