#include "core/trace/vm_accesses.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/guarded.hpp"

namespace mcsim {
namespace {

// Checks that these are requests of the VM, in order.
absl::Status check_requests(const Accesses& trace, VmId vm,
                            std::span<const std::int64_t> requests) {
  if (vm >= trace.vms.size()) {
    return out_of_range("vm: {} is outside [0, {})", vm, trace.vms.size());
  }
  std::int64_t least = 0;
  for (const std::int64_t request : requests) {
    if (request < least || std::cmp_greater_equal(request, trace.request_count()) ||
        trace.request_vm[static_cast<std::size_t>(request)] != vm) {
      return out_of_range("requests: {} is not the next request of VM {}", request, vm);
    }
    least = request + 1;
  }
  return absl::OkStatus();
}

// Returns the entries of a column for these requests; none if the column is not kept.
template <class T>
SharedArray<T> picked(const SharedArray<T>& column, std::span<const std::int64_t> requests) {
  std::vector<T> values;
  if (column.empty()) return values;
  values.reserve(requests.size());
  for (const std::int64_t request : requests) {
    values.push_back(column[static_cast<std::size_t>(request)]);
  }
  return values;
}

void copy_columns(const Accesses& trace, std::span<const std::int64_t> requests, Accesses& alone) {
  alone.request_time = picked(trace.request_time, requests);
  alone.request_vm = picked(trace.request_vm, requests);
  alone.request_op = picked(trace.request_op, requests);
  alone.request_response = picked(trace.request_response, requests);
  alone.request_class = picked(trace.request_class, requests);
  alone.request_bytes = picked(trace.request_bytes, requests);
  alone.request_head = picked(trace.request_head, requests);
  alone.keeps_responses = trace.keeps_responses;
  alone.keeps_classes = trace.keeps_classes;
  alone.keeps_bytes = trace.keeps_bytes;
}

// Copies the addresses of the blocks [first, first + unique), if they are kept.
void copy_addresses(const Accesses& trace, std::uint32_t first, std::uint32_t unique,
                    Accesses& alone) {
  alone.keeps_addresses = trace.keeps_addresses;
  if (!trace.keeps_addresses) return;
  const auto* const of_vm = trace.block_address.begin() + first;
  alone.block_address = std::vector<std::uint64_t>(of_vm, of_vm + unique);
}

// Copies and counts the blocks of the requests; ids begin with 0 instead of `first`.
void copy_blocks(const Accesses& trace, std::span<const std::int64_t> requests, std::uint32_t first,
                 Accesses& alone) {
  std::vector<std::uint64_t> begins{0};
  begins.reserve(requests.size() + 1);
  for (const std::int64_t request : requests) {
    begins.push_back(begins.back() + trace.blocks_of(static_cast<std::size_t>(request)).size());
  }
  std::vector<BlockId> ids;
  ids.reserve(begins.back());
  for (const std::int64_t request : requests) {
    const auto at = static_cast<std::size_t>(request);
    for (const BlockId id : trace.blocks_of(at)) ids.push_back(BlockId(id - first));
    const std::size_t op = trace.request_op[at];
    ++alone.given.requests[op];
    alone.given.accesses[op] += static_cast<Count>(trace.blocks_of(at).size());
  }
  alone.ids = std::move(ids);
  alone.request_begin = std::move(begins);
}

}  // namespace

absl::StatusOr<Accesses> vm_accesses(const Accesses& trace, VmId vm,
                                     std::span<const std::int64_t> requests) {
  return guarded("accesses of a VM", [&]() -> absl::StatusOr<Accesses> {
    MCSIM_RETURN_IF_ERROR(check_requests(trace, vm, requests));
    // The position among the VM's requests of the first one that is not before `request`.
    const auto position = [&](std::size_t request) {
      return static_cast<std::size_t>(
          std::ranges::lower_bound(requests, static_cast<std::int64_t>(request)) -
          requests.begin());
    };
    const std::uint32_t first = trace.vms[vm].first_id;
    const auto unique = static_cast<std::uint32_t>(trace.vms[vm].unique_blocks);

    Accesses alone;
    alone.vms = trace.vms;
    for (std::size_t other = 0; other < alone.vms.size(); ++other) {
      VmInfo& info = alone.vms[other];
      info.first_id = BlockId(other > vm ? unique : 0);
      if (other != vm) info.unique_blocks = info.requests = info.accesses = 0;
    }
    alone.time_base = trace.time_base;
    alone.block_bytes = trace.block_bytes;
    alone.line_blocks = trace.line_blocks;
    alone.warm_up = position(trace.warm_up);
    for (const Departure& departure : trace.departures) {
      if (departure.vm == vm) alone.departures.push_back({position(departure.request), vm});
    }
    for (const Discard& discard : trace.discards) {
      if (discard.block < first || discard.block - first >= unique) continue;
      alone.discards.push_back({position(discard.request), BlockId(discard.block - first)});
    }
    alone.discard_requests = static_cast<Count>(alone.discards.size());
    copy_addresses(trace, first, unique, alone);
    copy_columns(trace, requests, alone);
    copy_blocks(trace, requests, first, alone);
    return alone;
  });
}

}  // namespace mcsim
