#include "policies/hosts/writecache_host.hpp"

#include <algorithm>

namespace mcsim {
namespace {

// Prefetch distance, in accesses.
constexpr std::size_t kAhead = 16;
// Bytes of the superblock, and of the metadata of a block.
constexpr Count kSuperblockBytes = 64;
constexpr Count kEntryBytes = 16;

WritecacheSetup cache_of(const WritecacheHostSetup& setup, const Accesses& trace) {
  WritecacheSetup cache = setup.cache;
  cache.entries =
      static_cast<std::size_t>(WritecacheHost::entries_on(setup.capacity, trace.block_bytes));
  cache.blocks = trace.id_count();
  return cache;
}

}  // namespace

// Counts the changes of cache blocks.
class WritecacheHost::Changes {
 public:
  explicit Changes(WritecacheHost& host) : host_(host) {}

  void allocated(std::uint32_t number, bool has_older) {
    VmCounters& vm = host_.owner(host_.block_of_[number]);
    ++vm.tiers[0].fills;
    ++vm.tiers[0].occupancy;
    if (has_older) return;
    ++vm.dirtied;
    ++vm.dirty;
  }
  void overwritten(std::uint32_t number) {
    ++host_.owner(host_.block_of_[number]).tiers[0].updates;
  }
  void written_back(std::uint32_t number) {
    const BlockId block = host_.block_of_[number];
    VmCounters& vm = host_.owner(block);
    // If there is a newer copy, the block is dirty again.
    const bool has_newer = host_.cache_.holds(number);
    vm.dirtied += has_newer ? 1 : 0;
    vm.dirty -= has_newer ? 0 : 1;
    ++vm.write_backs;
    ++vm.backend_writes;
    ++vm.tiers[0].copied_out;
    ++vm.tiers[0].evictions;
    --vm.tiers[0].occupancy;
    host_.log(Op::kWrite, block);
  }
  void replaced(std::uint32_t number) {
    VmCounters& vm = host_.owner(host_.block_of_[number]);
    ++vm.tiers[0].invalidations;
    --vm.tiers[0].occupancy;
  }

 private:
  WritecacheHost& host_;
};

Count WritecacheHost::entries_on(Count capacity, Count block_bytes) {
  const Count bytes = capacity * block_bytes;
  Count entries = bytes / (block_bytes + kEntryBytes);
  const auto metadata = [block_bytes](Count of) {
    return (kSuperblockBytes + kEntryBytes * of + block_bytes - 1) / block_bytes * block_bytes;
  };
  while (entries > 0 && metadata(entries) + entries * block_bytes > bytes) --entries;
  return entries;
}

WritecacheHost::WritecacheHost(const WritecacheHostSetup& setup, const Accesses& trace)
    : setup_(setup), owners_(trace), cache_(cache_of(setup, trace)), counters_(trace.vms.size()) {
  for (VmCounters& vm : counters_) vm.tiers.push_back({.target = setup.capacity});
  number_blocks(trace);
}

void WritecacheHost::number_blocks(const Accesses& trace) {
  block_of_.resize(trace.id_count());
  number_of_.resize(trace.id_count());
  for (std::size_t i = 0; i < block_of_.size(); ++i) block_of_[i] = static_cast<BlockId>(i);
  for (std::size_t vm = 0; vm < owners_.count(); ++vm) {
    const std::size_t first = owners_.first_of(vm);
    const std::size_t end = owners_.end_of(vm);
    const std::span blocks = std::span(block_of_).subspan(first, end - first);
    if (trace.keeps_addresses) {
      std::ranges::sort(blocks, {}, [&trace](BlockId block) { return trace.block_address[block]; });
    }
    for (std::size_t i = first + 1; i < end; ++i) {
      const bool follows =
          !trace.keeps_addresses || trace.block_address[block_of_[i]] ==
                                        trace.block_address[block_of_[i - 1]] + trace.block_bytes;
      if (follows) cache_.mark_following(static_cast<std::uint32_t>(i));
    }
  }
  for (std::size_t i = 0; i < block_of_.size(); ++i) {
    number_of_[block_of_[i]] = static_cast<std::uint32_t>(i);
  }
}

void WritecacheHost::replay(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  Changes changes(*this);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const std::size_t ahead = trace.request_begin[r] + kAhead;
    if (ahead < ids.size()) cache_.prefetch(number_of_[ids[ahead]]);
    const Nanoseconds time = setup_.first + since_first_request(trace, r, setup_.rate);
    cache_.run_until(jiffies_at(time, setup_.hz), changes);
    const VmId vm = trace.request_vm[r];
    MissedBlocks missed;
    if (static_cast<Op>(trace.request_op[r]) == Op::kWrite) {
      write(vm, blocks, missed);
    } else {
      read(vm, blocks, missed);
    }
    cache_.settle(changes);
    counters_[vm].accesses += static_cast<Count>(blocks.size());
    counters_[vm].misses += missed.count;
    count_request(trace, r, missed, counters_[vm]);
  }
}

void WritecacheHost::read(VmId vm, std::span<const BlockId> blocks, MissedBlocks& missed) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool hit = cache_.holds(number_of_[blocks[i]]);
    missed.note(i == 0, !hit);
    if (!hit) log(Op::kRead, blocks[i]);
  }
  VmCounters& of = counters_[vm];
  const Count hits = static_cast<Count>(blocks.size()) - missed.count;
  of.backend_reads += missed.count;
  of.tiers[0].hits += hits;
  of.reads_served.blocks[0] += hits;
  of.reads_served.blocks[1] += missed.count;
  ++of.reads_served.requests[missed.count > 0 ? 1 : 0];
}

void WritecacheHost::write(VmId vm, std::span<const BlockId> blocks, MissedBlocks& missed) {
  numbers_.clear();
  for (const BlockId block : blocks) numbers_.push_back(number_of_[block]);
  Changes changes(*this);
  Count around = 0;
  for (std::size_t i = 0; i < blocks.size();) {
    const Writecache::Piece piece = cache_.write(std::span(numbers_).subspan(i), changes);
    const std::size_t end = i + piece.blocks;
    for (; i < end; ++i) {
      missed.note(i == 0, piece.outcome != WritecacheOutcome::kHit);
      if (piece.outcome != WritecacheOutcome::kAround) continue;
      ++around;
      log(Op::kWrite, blocks[i]);
    }
  }
  VmCounters& of = counters_[vm];
  const auto count = static_cast<Count>(blocks.size());
  of.writes += count;
  of.write_misses += missed.count;
  of.tiers[0].hits += count - missed.count;
  of.tiers[0].write_hits += count - missed.count;
  of.backend_writes += around;
  of.writes_served.blocks[0] += count - around;
  of.writes_served.blocks[1] += around;
  ++of.writes_served.requests[around > 0 ? 1 : 0];
}

Count WritecacheHost::drop(BlockId block) {
  const Count dropped = cache_.drop(number_of_[block]);
  VmCounters& vm = owner(block);
  vm.dirty -= dropped > 0 ? 1 : 0;
  vm.tiers[0].invalidations += dropped;
  vm.tiers[0].occupancy -= dropped;
  return dropped;
}

void WritecacheHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) owner(block).discarded_dirty += drop(block) > 0 ? 1 : 0;
}

void WritecacheHost::release(VmId vm) {
  VmCounters& of = counters_[vm];
  for (BlockId block = owners_.first_of(vm); block < owners_.end_of(vm); ++block) {
    if (drop(block) == 0) continue;
    ++of.write_backs;
    ++of.backend_writes;
    ++of.tiers[0].copied_out;
    log(Op::kWrite, block);
  }
}

absl::Status WritecacheHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

absl::Status WritecacheHost::attach(const Observers& observers) {
  backend_log_ = observers.log;
  return refuse_probe(observers);
}

absl::Status WritecacheHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(cache_.check());
  Count held = 0;
  Count dirty = 0;
  for (const VmCounters& vm : counters_) {
    held += vm.tiers[0].occupancy;
    dirty += vm.dirty;
  }
  Count found_dirty = 0;
  for (std::uint32_t number = 0; number < block_of_.size(); ++number) {
    found_dirty += cache_.holds(number) ? 1 : 0;
  }
  const auto found = static_cast<Count>(cache_.size());
  if (held == found && dirty == found_dirty) return absl::OkStatus();
  return internal_error("dm-writecache: holds {} copies of {} blocks, counted {} and {}", found,
                        found_dirty, held, dirty);
}

}  // namespace mcsim
