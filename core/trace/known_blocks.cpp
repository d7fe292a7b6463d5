#include "core/trace/known_blocks.hpp"

#include <cstddef>
#include <span>
#include <utility>

#include <absl/container/flat_hash_map.h>

namespace mcsim {
namespace {

using Addresses = std::span<const std::uint64_t>;

Addresses addresses_of(const Accesses& trace, const VmInfo& vm) {
  return std::span(trace.block_address)
      .subspan(vm.first_id, static_cast<std::size_t>(vm.unique_blocks));
}

absl::Status check_addresses(const Accesses& trace) {
  if (trace.block_address.size() == trace.id_count()) return absl::OkStatus();
  return invalid_argument("a state needs a trace that keeps the addresses of blocks");
}

absl::Status check_same_vms(const Accesses& trace, const KnownBlocks& before) {
  if (before.block_bytes != trace.block_bytes || before.line_blocks != trace.line_blocks) {
    return invalid_argument(
        "the state is one of blocks of {} bytes in lines of {}, not of {} in {}",
        before.block_bytes, before.line_blocks, trace.block_bytes, trace.line_blocks);
  }
  if (before.vms.size() != trace.vms.size()) {
    return invalid_argument("the state is one of {} VMs, the trace has {}", before.vms.size(),
                            trace.vms.size());
  }
  std::uint64_t first_id = 0;
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    const KnownVm& known = before.vms[vm];
    if (known.name != trace.vms[vm].name) {
      return invalid_argument("VM {} of the state is {}, that of the trace is {}", vm, known.name,
                              trace.vms[vm].name);
    }
    if (known.first_id != first_id || known.addresses.size() % trace.line_blocks != 0) {
      return data_loss("the ids of {} do not follow those of the VM before", known.name);
    }
    first_id += known.addresses.size();
  }
  return absl::OkStatus();
}

// The ids of one VM while they are assigned.
class Union {
 public:
  // The known lines, then all others of the trace by id. `line_of[i]` is the new line of its line
  // i.
  Union(Addresses known, Addresses of_trace, std::uint32_t line_blocks)
      : addresses_(known.begin(), known.end()) {
    absl::flat_hash_map<std::uint64_t, std::uint32_t> line_at;
    for (std::size_t i = 0; i < known.size(); i += line_blocks) {
      line_at.emplace(known[i], static_cast<std::uint32_t>(i / line_blocks));
    }
    for (std::size_t i = 0; i < of_trace.size(); i += line_blocks) {
      const auto next = static_cast<std::uint32_t>(addresses_.size() / line_blocks);
      const auto [found, is_new] = line_at.emplace(of_trace[i], next);
      line_of_.push_back(found->second);
      if (!is_new) continue;
      const auto line = of_trace.subspan(i, line_blocks);
      addresses_.insert(addresses_.end(), line.begin(), line.end());
    }
  }

  Addresses addresses() const { return addresses_; }
  std::span<const std::uint32_t> line_of() const { return line_of_; }

 private:
  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint32_t> line_of_;
};

}  // namespace

absl::StatusOr<KnownBlocks> known_blocks(const Accesses& trace) {
  MCSIM_RETURN_IF_ERROR(check_addresses(trace));
  KnownBlocks known{.block_bytes = trace.block_bytes, .line_blocks = trace.line_blocks, .vms = {}};
  for (const VmInfo& vm : trace.vms) {
    const Addresses of_vm = addresses_of(trace, vm);
    known.vms.push_back(
        {.name = vm.name, .first_id = vm.first_id, .addresses = {of_vm.begin(), of_vm.end()}});
  }
  return known;
}

absl::StatusOr<Accesses> continue_ids(const Accesses& trace, const KnownBlocks& before) {
  MCSIM_RETURN_IF_ERROR(check_addresses(trace));
  MCSIM_RETURN_IF_ERROR(check_same_vms(trace, before));
  if (trace.discard_requests > 0) {
    return invalid_argument("a trace with discards cannot start from a state");
  }
  Accesses continued = trace;
  std::vector<std::uint64_t> addresses;
  std::vector<BlockId> new_id;  // by id of the trace
  for (std::size_t v = 0; v < trace.vms.size(); ++v) {
    const Union all(before.vms[v].addresses, addresses_of(trace, trace.vms[v]), trace.line_blocks);
    const std::size_t first = addresses.size();
    addresses.insert(addresses.end(), all.addresses().begin(), all.addresses().end());
    if (addresses.size() >= kNoBlock) {
      return absl::ResourceExhaustedError("the state and the trace have too many blocks");
    }
    for (const std::uint32_t line : all.line_of()) {
      for (std::uint32_t i = 0; i < trace.line_blocks; ++i) {
        new_id.push_back(BlockId(first + std::size_t{line} * trace.line_blocks + i));
      }
    }
    continued.vms[v].first_id = BlockId(first);
    continued.vms[v].unique_blocks = static_cast<Count>(all.addresses().size());
  }
  std::vector<BlockId> ids = trace.ids.copy();
  for (BlockId& id : ids) id = new_id[id];
  continued.ids = std::move(ids);
  continued.block_address = std::move(addresses);
  return continued;
}

}  // namespace mcsim
