#include "core/engine/hosts/prefetch_ids.hpp"

#include <algorithm>
#include <numeric>

namespace mcsim {
namespace {

// Return for each block the number of blocks in the longest read request that ends with it.
std::vector<std::uint32_t> longest_reads(const Accesses& trace) {
  std::vector<std::uint32_t> longest(trace.id_count(), 0);
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty() || static_cast<Op>(trace.request_op[r]) != Op::kRead) continue;
    std::uint32_t& of = longest[blocks.back()];
    of = std::max(of, static_cast<std::uint32_t>(blocks.size()));
  }
  return longest;
}

}  // namespace

absl::StatusOr<PrefetchIds> PrefetchIds::make(const Accesses& trace, const Prefetcher& prefetcher) {
  if (!trace.keeps_addresses) {
    return invalid_argument("prefetch: the trace does not keep the addresses of blocks");
  }
  const auto is_inside = [&](std::uint64_t address) { return address % trace.block_bytes != 0; };
  if (std::ranges::any_of(trace.block_address, is_inside)) {
    return invalid_argument("prefetch: the trace has objects, and not aligned blocks of a device");
  }
  PrefetchIds ids;
  ids.new_ids_.resize(trace.id_count());
  const std::vector<std::uint32_t> longest = longest_reads(trace);
  for (const VmInfo& vm : trace.vms) ids.add_vm(trace, vm, prefetcher, longest);
  if (ids.count_ < kNoBlock) return ids;
  return invalid_argument(
      "prefetch: the trace has {} blocks with those that may be prefetched: "
      "at most {} are supported",
      ids.count_, kNoBlock - 1);
}

void PrefetchIds::add_vm(const Accesses& trace, const VmInfo& vm, const Prefetcher& prefetcher,
                         const std::vector<std::uint32_t>& longest) {
  std::vector<BlockId> sorted(static_cast<std::size_t>(vm.unique_blocks));
  std::iota(sorted.begin(), sorted.end(), vm.first_id);
  const auto address_of = [&](BlockId id) { return trace.block_address[id] / trace.block_bytes; };
  std::ranges::sort(sorted, {}, address_of);
  const std::size_t first_run = first_run_.back();
  const std::uint64_t end = sorted.empty() ? 0 : address_of(sorted.back()) + 1;
  for (const BlockId id : sorted) {
    const std::uint64_t address = address_of(id);
    // Two addresses with less than two blocks in between are near.
    const bool is_near = runs_.size() > first_run && address <= runs_.back().end + 1;
    std::uint64_t last = address + 1;
    if (longest[id] > 0 && (!prefetcher.needs_run() || address == 0 || is_near)) {
      last += std::min(prefetcher.reach(longest[id]), end - last);
    }
    extend(address, last, first_run);
    new_ids_[id] = static_cast<BlockId>(runs_.back().first_id + (address - runs_.back().begin));
  }
  first_run_.push_back(runs_.size());
}

// Add addresses to the last run, or to a new one if it does not reach them.
void PrefetchIds::extend(std::uint64_t begin, std::uint64_t end, std::size_t first_run) {
  if (runs_.size() == first_run || begin > runs_.back().end) {
    runs_.push_back({.begin = begin, .end = begin, .first_id = static_cast<BlockId>(count_)});
  }
  if (end <= runs_.back().end) return;
  count_ += end - runs_.back().end;
  runs_.back().end = end;
}

Accesses PrefetchIds::renumber(const Accesses& trace) const {
  Accesses renumbered = trace;
  BlockId first_id = 0;
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    const std::size_t last = first_run_[vm + 1];
    BlockId end = first_id;
    if (last > first_run_[vm]) {
      const Run& run = runs_[last - 1];
      end = static_cast<BlockId>(run.first_id + (run.end - run.begin));
    }
    renumbered.vms[vm].first_id = first_id;
    renumbered.vms[vm].unique_blocks = end - first_id;
    first_id = end;
  }
  std::vector<BlockId> ids(trace.ids.size());
  std::ranges::transform(trace.ids, ids.begin(), [&](BlockId id) { return new_ids_[id]; });
  renumbered.ids = std::move(ids);
  std::vector<std::uint64_t> addresses(renumbered.id_count());
  for (const Run& run : runs_) {
    for (std::uint64_t at = run.begin; at < run.end; ++at) {
      addresses[run.first_id + (at - run.begin)] = at * trace.block_bytes;
    }
  }
  renumbered.block_address = std::move(addresses);
  renumbered.discards.clear();
  return renumbered;
}

std::optional<BlockId> PrefetchIds::find(VmId vm, std::uint64_t address) const {
  const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first_run_[vm]);
  const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(first_run_[vm + std::size_t{1}]);
  const auto after = std::upper_bound(
      begin, end, address, [](std::uint64_t at, const Run& run) { return at < run.begin; });
  if (after == begin) return std::nullopt;
  const Run& run = *(after - 1);
  if (address >= run.end) return std::nullopt;
  return static_cast<BlockId>(run.first_id + (address - run.begin));
}

}  // namespace mcsim
