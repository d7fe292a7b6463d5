#include "policies/hosts/open_cas_host.hpp"

#include <algorithm>
#include <array>

#include "core/base/prefetch.hpp"
#include "core/engine/hosts/request_context.hpp"
#include "policies/hosts/kernel_time.hpp"

namespace mcsim {
namespace {

// Prefetch distances, in accesses.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kAheadCached = 8;

constexpr Count kPageBytes = 4096;
constexpr Count kLeastDeviceBytes = 40 << 20;
// Superblock, classes and core devices, in pages.
constexpr Count kFixedPages = 8960;
constexpr Count kSegmentPages = 32;

Count round_up(Count value, Count unit) { return (value + unit - 1) / unit * unit; }

// The pages of metadata of this number of lines: cleaning, LRU, collisions, lists, hashes.
Count pages_of(Count lines, Count line_bytes) {
  constexpr Count kSectorBytes = 512;
  const Count state = (line_bytes / kSectorBytes + 7) / 8;  // valid or dirty sectors of a line
  struct Segment {
    Count entries;
    Count entry_bytes;
  };
  const std::array segments{Segment{lines, 12}, Segment{lines, 9}, Segment{lines, 8 + 2 * state},
                            Segment{lines, 8}, Segment{(lines + 3) / 4, 4}};
  Count pages = 0;
  for (const Segment& segment : segments) {
    const Count in_page = kPageBytes / segment.entry_bytes;
    pages += round_up((segment.entries + in_page - 1) / in_page, kSegmentPages);
  }
  return pages;
}

OpenCasSetup cache_of(const OpenCasHostSetup& setup, const Accesses& trace) {
  OpenCasSetup cache = setup.cache;
  cache.trace_lines = trace.id_count() / trace.line_blocks;
  cache.cores = trace.vms.size();
  return cache;
}

Count count_of(std::uint64_t blocks) { return std::popcount(blocks); }

}  // namespace

// Counts the changes of blocks.
class OpenCasHost::Changes {
 public:
  explicit Changes(OpenCasHost& host) : host_(host) {}

  void filled(std::uint32_t line, std::uint64_t blocks) {
    TierCounters& tier = host_.owner(line).tiers[0];
    tier.fills += count_of(blocks);
    tier.occupancy += count_of(blocks);
  }
  void evicted(std::uint32_t line, std::uint64_t blocks) {
    TierCounters& tier = host_.owner(line).tiers[0];
    tier.evictions += count_of(blocks);
    tier.occupancy -= count_of(blocks);
  }
  void invalidated(std::uint32_t line, std::uint64_t blocks) {
    TierCounters& tier = host_.owner(line).tiers[0];
    tier.invalidations += count_of(blocks);
    tier.occupancy -= count_of(blocks);
  }
  void dirtied(std::uint32_t line, std::uint64_t blocks) {
    VmCounters& vm = host_.owner(line);
    vm.dirtied += count_of(blocks);
    vm.dirty += count_of(blocks);
  }
  void cleaned(std::uint32_t line, std::uint64_t blocks) {
    VmCounters& vm = host_.owner(line);
    vm.dirty -= count_of(blocks);
    vm.write_backs += count_of(blocks);
    vm.backend_writes += count_of(blocks);
    vm.tiers[0].copied_out += count_of(blocks);
    if (host_.backend_log_ == nullptr) return;
    for (std::uint32_t i = 0; i < host_.line_blocks_; ++i) {
      if ((blocks >> i & 1) == 0) continue;
      host_.backend_log_->push(Op::kWrite, static_cast<BlockId>(line * host_.line_blocks_ + i));
    }
  }
  bool precedes(std::uint32_t line, std::uint32_t other) const {
    const std::size_t a = line * host_.line_blocks_;
    const std::size_t b = other * host_.line_blocks_;
    if (host_.address_.size() == 0) return a < b;
    const VmId vm_a = host_.owners_.vm_of(static_cast<BlockId>(a));
    const VmId vm_b = host_.owners_.vm_of(static_cast<BlockId>(b));
    return vm_a == vm_b ? host_.address_[a] < host_.address_[b] : vm_a < vm_b;
  }

 private:
  OpenCasHost& host_;
};

// The number of lines is found as OCF does, by repeated estimates of the metadata.
Count OpenCasHost::lines_on(Count device_bytes, Count line_bytes) {
  if (device_bytes < kLeastDeviceBytes) return 0;
  constexpr int kMostSteps = 1000;
  const Count device_lines = device_bytes / line_bytes;
  Count lines = device_lines;
  Count least = lines;
  for (int step = 0; step < kMostSteps; ++step) {
    const Count pages = kFixedPages + pages_of(lines, line_bytes);
    const Count more = (device_lines * line_bytes - pages * kPageBytes) / line_bytes - lines;
    if (more == 0 || (more > 0 && more == least)) break;
    if (more > 0) least = std::min(least, more);
    lines += more;
  }
  return std::max<Count>(lines, 0);
}

OpenCasHost::OpenCasHost(const OpenCasHostSetup& setup, const Accesses& trace)
    : setup_(setup),
      line_blocks_(trace.line_blocks),
      owners_(trace),
      cache_(cache_of(setup, trace)),
      counters_(trace.vms.size()) {
  if (trace.keeps_addresses) address_ = trace.block_address;
  const auto lines = static_cast<Count>(setup.cache.lines);
  for (VmCounters& vm : counters_) vm.tiers.push_back({.target = lines * line_blocks_});
}

void OpenCasHost::replay(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  Changes changes(*this);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const std::size_t at = trace.request_begin[r];
    if (at + kAhead < ids.size()) {
      cache_.prefetch(ids[at + kAhead] / line_blocks_);
      if (trace.keeps_addresses) prefetch_line(&address_[ids[at + kAhead]]);
    }
    if (at + kAheadCached < ids.size()) {
      cache_.prefetch_cached(ids[at + kAheadCached] / line_blocks_);
    }
    split(blocks);
    const OpenCasRequest request = request_in(trace, r);
    const OpenCasOutcome outcome = cache_.request(request, parts_, changes);
    const VmId vm = trace.request_vm[r];
    MissedBlocks missed;
    count(vm, request.op, blocks, outcome, missed);
    count_request(trace, r, missed, counters_[vm]);
  }
}

OpenCasRequest OpenCasHost::request_in(const Accesses& trace, std::size_t request) const {
  RequestContext context = context_of(trace, request, trace.keeps_addresses);
  if (!trace.keeps_addresses) {
    const BlockId first = trace.ids[trace.request_begin[request]];
    context.offset = std::uint64_t{first - owners_.first_of(context.vm)} * trace.block_bytes;
    context.bytes = static_cast<std::uint64_t>(context.blocks) * trace.block_bytes;
  }
  return {.time = setup_.phase + since_first_request(trace, request, setup_.rate),
          .op = static_cast<Op>(trace.request_op[request]),
          .core = context.vm,
          .offset = context.offset,
          .bytes = context.bytes};
}

void OpenCasHost::split(std::span<const BlockId> blocks) {
  parts_.clear();
  for (const BlockId block : blocks) {
    const std::uint32_t line = block / line_blocks_;
    if (parts_.empty() || parts_.back().line != line) parts_.push_back({.line = line, .blocks = 0});
    parts_.back().blocks |= std::uint64_t{1} << (block % line_blocks_);
  }
}

void OpenCasHost::count(VmId vm, Op op, std::span<const BlockId> blocks, OpenCasOutcome outcome,
                        MissedBlocks& missed) {
  std::size_t part = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (parts_[part].line != blocks[i] / line_blocks_) ++part;
    const bool hit = (parts_[part].hits >> (blocks[i] % line_blocks_) & 1) != 0;
    missed.note(i == 0, !hit);
  }
  const bool is_write = op == Op::kWrite;
  const bool stays = is_write ? setup_.cache.keeps_dirty() && outcome != OpenCasOutcome::kPass
                              : outcome == OpenCasOutcome::kHit;
  const auto all = static_cast<Count>(blocks.size());
  const Count hits = all - missed.count;
  VmCounters& of = counters_[vm];
  of.accesses += all;
  of.misses += missed.count;
  of.tiers[0].hits += hits;
  if (is_write) {
    of.writes += all;
    of.write_misses += missed.count;
    of.tiers[0].write_hits += hits;
    of.tiers[0].updates += hits;
  }
  of.served(op).blocks[stays ? 0 : 1] += all;
  ++of.served(op).requests[stays ? 0 : 1];
  if (stays) return;
  (is_write ? of.backend_writes : of.backend_reads) += all;
  log(op, blocks);
}

void OpenCasHost::log(Op op, std::span<const BlockId> blocks) {
  if (backend_log_ == nullptr) return;
  for (const BlockId block : blocks) backend_log_->push(op, block);
}

void OpenCasHost::discard(std::span<const BlockId> blocks) {
  Changes changes(*this);
  split(blocks);
  for (const OpenCasPart& part : parts_) {
    const Count dropped = count_of(cache_.drop(part.line, part.blocks, changes));
    owner(part.line).dirty -= dropped;
    owner(part.line).discarded_dirty += dropped;
  }
}

void OpenCasHost::release(VmId vm) {
  Changes changes(*this);
  for (std::uint32_t line = owners_.first_of(vm) / line_blocks_;
       line < owners_.end_of(vm) / line_blocks_; ++line) {
    cache_.release(line, changes);
  }
}

absl::Status OpenCasHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

absl::Status OpenCasHost::attach(const Observers& observers) {
  backend_log_ = observers.log;
  return refuse_probe(observers);
}

absl::Status OpenCasHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(cache_.check());
  Count held = 0;
  Count dirty = 0;
  for (const VmCounters& vm : counters_) {
    held += vm.tiers[0].occupancy;
    dirty += vm.dirty;
  }
  const OpenCasLines& lines = cache_.lines();
  Count found = 0;
  Count found_dirty = 0;
  for (Slot slot = 0; slot < lines.size(); ++slot) {
    found += count_of(lines[slot].valid);
    found_dirty += count_of(lines[slot].dirty);
  }
  if (held == found && dirty == found_dirty) return absl::OkStatus();
  return internal_error("open-cas: holds {} blocks, {} of them dirty, counted {} and {}", found,
                        found_dirty, held, dirty);
}

}  // namespace mcsim
