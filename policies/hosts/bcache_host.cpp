#include "policies/hosts/bcache_host.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/prefetch.hpp"
#include "core/engine/hosts/request_context.hpp"
#include "policies/hosts/kernel_time.hpp"

namespace mcsim {
namespace {

// Prefetch distance, in accesses.
constexpr std::size_t kAhead = 16;
constexpr Count kSectorBytes = 512;
// Percentages of buckets in use above which nothing is inserted or written back.
constexpr Count kMostToInsert = 95;
constexpr Count kMostToWriteBack = 70;
constexpr Count kMostToWriteBackAsync = 40;

BcacheGeometry geometry_of(const BcacheSetup& setup, const Accesses& trace) {
  const Count bucket_blocks = setup.bucket_bytes / trace.block_bytes;
  return {.buckets = static_cast<std::size_t>(setup.capacity / bucket_blocks),
          .bucket_sectors = setup.bucket_bytes / kSectorBytes,
          .block_sectors = trace.block_bytes / kSectorBytes,
          .blocks = trace.id_count(),
          .tasks = trace.vms.size()};
}

BcacheCleanerSetup cleaner_of(const BcacheSetup& setup, const Accesses& trace) {
  const BcacheGeometry geometry = geometry_of(setup, trace);
  const Count sectors = static_cast<Count>(geometry.buckets) * geometry.bucket_sectors;
  return {.block_sectors = geometry.block_sectors,
          .target_sectors = sectors * setup.writeback_percent / 100,
          .is_limited = setup.writeback_percent > 0,
          .delay = setup.writeback_delay};
}

}  // namespace

// Counts the changes of blocks. `dirty`: the inserted blocks are.
class BcacheHost::Changes {
 public:
  using BlockState = BcacheBuckets::BlockState;

  Changes(BcacheHost& host, bool dirty) : host_(host), dirty_(dirty) {}

  void inserted(BlockId block, BlockState before) {
    VmCounters& vm = host_.owner(block);
    const bool was_cached = before != BlockState::kAbsent;
    ++(was_cached ? vm.tiers[0].updates : vm.tiers[0].fills);
    vm.tiers[0].occupancy += was_cached ? 0 : 1;
    if (before == BlockState::kDirty) host_.cleaner_.forget(host_.number_of_[block]);
    if (dirty_) host_.cleaner_.mark_dirty(host_.number_of_[block]);
    if (before == BlockState::kDirty && !dirty_) {
      --vm.dirty;
      ++vm.discarded_dirty;
    } else if (dirty_ && before != BlockState::kDirty) {
      ++vm.dirty;
      ++vm.dirtied;
    }
  }
  // A block that should be dirty goes to the backend.
  void bypassed(BlockId block, BlockState before) {
    host_.note_removed(block, before);
    if (!dirty_) return;
    ++host_.owner(block).backend_writes;
    host_.log(Op::kWrite, block);
  }
  void evicted(BlockId block) {
    TierCounters& tier = host_.owner(block).tiers[0];
    ++tier.evictions;
    --tier.occupancy;
  }

 private:
  BcacheHost& host_;
  bool dirty_;
};

BcacheHost::BcacheHost(const BcacheSetup& setup, const Accesses& trace)
    : setup_(setup),
      owners_(trace),
      buckets_(geometry_of(setup, trace)),
      cleaner_(cleaner_of(setup, trace),
               setup.writes == BcacheWrites::kBack ? trace.id_count() : 0),
      streams_({}),
      counters_(trace.vms.size()) {
  const BcacheGeometry geometry = geometry_of(setup, trace);
  const auto capacity = static_cast<Count>(geometry.buckets * geometry.bucket_blocks());
  for (VmCounters& vm : counters_) vm.tiers.push_back({.target = capacity});
  if (setup.writes == BcacheWrites::kBack) number_blocks(trace);
}

void BcacheHost::number_blocks(const Accesses& trace) {
  block_of_.reserve(trace.id_count());
  number_of_.resize(trace.id_count());
  std::vector<std::pair<std::uint64_t, BlockId>> sorted;  // by address, of one VM
  for (std::size_t vm = 0; vm < owners_.count(); ++vm) {
    sorted.clear();
    for (BlockId block = owners_.first_of(vm); block < owners_.end_of(vm); ++block) {
      sorted.emplace_back(trace.keeps_addresses ? trace.block_address[block] : 0, block);
    }
    std::ranges::sort(sorted);
    for (const auto& each : sorted) {
      number_of_[each.second] = static_cast<std::uint32_t>(block_of_.size());
      block_of_.push_back(each.second);
    }
  }
}

void BcacheHost::replay(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const std::size_t ahead = trace.request_begin[r] + kAhead;
    if (ahead < ids.size()) {
      buckets_.prefetch(ids[ahead]);
      if (trace.keeps_addresses) prefetch_line(&trace.block_address[ids[ahead]]);
    }
    const RequestContext request = context_in(trace, r);
    const bool writes_back = setup_.writes == BcacheWrites::kBack;
    if (writes_back) {
      cleaner_.run_until(request.time,
                         [this](std::size_t number) { write_back(block_of_[number]); });
    }
    const bool bypass = bypasses(request);
    if (!bypass) buckets_.age(request.blocks * (Count{trace.block_bytes} / kSectorBytes));
    MissedBlocks missed;
    VmCounters& vm = counters_[request.vm];
    vm.accesses += request.blocks;
    if (request.op == Op::kWrite) {
      write(request.vm, blocks, bypass, missed);
    } else {
      read(request.vm, blocks, bypass, missed);
    }
    count_request(trace, r, missed, vm);
    if (writes_back) cleaner_.note_request(request.time);
  }
}

// The context of a request, with its time since the first one.
RequestContext BcacheHost::context_in(const Accesses& trace, std::size_t request) const {
  RequestContext context = context_of(trace, request, trace.keeps_addresses);
  if (!trace.keeps_addresses) {
    const BlockId first = trace.ids[trace.request_begin[request]];
    context.offset = std::uint64_t{first - owners_.first_of(context.vm)} * trace.block_bytes;
    context.bytes = static_cast<std::uint64_t>(context.blocks) * trace.block_bytes;
  }
  context.time = since_first_request(trace, request, setup_.rate);
  return context;
}

bool BcacheHost::bypasses(const RequestContext& request) {
  if (buckets_.in_use() > kMostToInsert) return true;
  if (setup_.writes == BcacheWrites::kAround && request.op == Op::kWrite) return true;
  const auto unit = static_cast<std::uint64_t>(setup_.cache_block_bytes);
  if (request.offset % unit != 0 || request.bytes % unit != 0) return true;
  if (setup_.sequential_cutoff == 0) return false;
  return streams_.follow(request) >= static_cast<std::uint64_t>(setup_.sequential_cutoff);
}

void BcacheHost::read(VmId vm, std::span<const BlockId> blocks, bool bypass, MissedBlocks& missed) {
  VmCounters& of = counters_[vm];
  std::size_t gap = 0;  // first block of the first gap
  std::size_t gap_end = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool hit = buckets_.holds(blocks[i]);
    missed.note(i == 0, !hit);
    if (hit) {
      buckets_.renew(blocks[i]);
      continue;
    }
    if (gap_end == 0) gap = gap_end = i;
    if (gap_end == i) ++gap_end;
    log(Op::kRead, blocks[i]);
  }
  const auto count = static_cast<Count>(blocks.size());
  of.misses += missed.count;
  of.backend_reads += missed.count;
  of.tiers[0].hits += count - missed.count;
  of.reads_served.blocks[0] += count - missed.count;
  of.reads_served.blocks[1] += missed.count;
  ++of.reads_served.requests[missed.count > 0 ? 1 : 0];
  if (missed.count == 0 || bypass) return;
  Changes changes(*this, false);
  buckets_.insert(blocks.subspan(gap, gap_end - gap), vm, false, changes);
}

void BcacheHost::write(VmId vm, std::span<const BlockId> blocks, bool bypass,
                       MissedBlocks& missed) {
  VmCounters& of = counters_[vm];
  const Count most = setup_.is_sync ? kMostToWriteBack : kMostToWriteBackAsync;
  const bool back = !bypass && setup_.writes == BcacheWrites::kBack && buckets_.in_use() <= most;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    missed.note(i == 0, bypass || !buckets_.holds(blocks[i]));
  }
  const auto count = static_cast<Count>(blocks.size());
  of.writes += count;
  of.misses += missed.count;
  of.write_misses += missed.count;
  of.tiers[0].hits += count - missed.count;
  of.tiers[0].write_hits += count - missed.count;
  of.writes_served.blocks[back ? 0 : 1] += count;
  ++of.writes_served.requests[back ? 0 : 1];
  if (!back) of.backend_writes += count;
  for (const BlockId block : blocks) {
    if (!back) log(Op::kWrite, block);
    if (bypass) note_removed(block, buckets_.remove(block));
  }
  if (bypass) return;
  Changes changes(*this, back);
  buckets_.insert(blocks, vm, back, changes);
}

void BcacheHost::note_removed(BlockId block, BcacheBuckets::BlockState before) {
  if (before == BcacheBuckets::BlockState::kAbsent) return;
  VmCounters& vm = owner(block);
  ++vm.tiers[0].invalidations;
  --vm.tiers[0].occupancy;
  if (before == BcacheBuckets::BlockState::kClean) return;
  cleaner_.forget(number_of_[block]);
  --vm.dirty;
  ++vm.discarded_dirty;
}

// Write a dirty block to the backend; the copy in the cache is clean then.
void BcacheHost::write_back(BlockId block) {
  buckets_.clean(block);
  VmCounters& vm = owner(block);
  --vm.dirty;
  ++vm.write_backs;
  ++vm.backend_writes;
  ++vm.tiers[0].copied_out;
  log(Op::kWrite, block);
}

void BcacheHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) note_removed(block, buckets_.remove(block));
}

void BcacheHost::release(VmId vm) {
  for (BlockId block = owners_.first_of(vm); block < owners_.end_of(vm); ++block) {
    if (buckets_.is_dirty(block)) {
      cleaner_.forget(number_of_[block]);
      write_back(block);
    }
    note_removed(block, buckets_.remove(block));
  }
}

absl::Status BcacheHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

absl::Status BcacheHost::attach(const Observers& observers) {
  backend_log_ = observers.log;
  return refuse_probe(observers);
}

absl::Status BcacheHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(buckets_.check());
  Count held = 0;
  Count dirty = 0;
  for (const VmCounters& vm : counters_) {
    held += vm.tiers[0].occupancy;
    dirty += vm.dirty;
  }
  if (held == buckets_.size() && dirty == buckets_.dirty()) return absl::OkStatus();
  return internal_error("bcache: holds {} blocks, {} of them dirty, counted {} and {}",
                        buckets_.size(), buckets_.dirty(), held, dirty);
}

}  // namespace mcsim
