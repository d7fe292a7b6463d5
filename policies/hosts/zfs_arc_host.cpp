#include "policies/hosts/zfs_arc_host.hpp"

namespace mcsim {
namespace {

// Prefetch distance, in accesses.
constexpr std::size_t kAhead = 16;

ZfsArcSetup arc_of(const ZfsArcHostSetup& setup, const Accesses& trace) {
  ZfsArcSetup arc = setup.arc;
  arc.records = trace.id_count() / trace.line_blocks;
  arc.record_bytes = Count{trace.block_bytes} * trace.line_blocks;
  return arc;
}

// Return whether a request covers all bytes of the line with its blocks [begin, end).
bool covers(const Accesses& trace, std::size_t request, std::size_t begin, std::size_t end) {
  if (end - begin < trace.line_blocks) return false;
  if (!trace.keeps_bytes) return true;
  const Count block = trace.block_bytes;
  return trace.bytes_in_block(request, begin) == block &&
         trace.bytes_in_block(request, end - 1) == block;
}

}  // namespace

class ZfsArcHost::Changes {
 public:
  explicit Changes(ZfsArcHost& host) : host_(host) {}

  void evicted(std::uint32_t record) {
    TierCounters& tier = host_.owner(record).tiers[0];
    tier.evictions += host_.record_blocks_;
    tier.occupancy -= host_.record_blocks_;
  }

 private:
  ZfsArcHost& host_;
};

ZfsArcHost::ZfsArcHost(const ZfsArcHostSetup& setup, const Accesses& trace)
    : rate_(setup.rate),
      record_blocks_(trace.line_blocks),
      owners_(trace),
      arc_(arc_of(setup, trace)),
      counters_(trace.vms.size()) {
  for (VmCounters& vm : counters_) vm.tiers.push_back({.target = setup.capacity});
}

void ZfsArcHost::replay(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const std::size_t ahead = trace.request_begin[r] + kAhead;
    if (ahead < ids.size()) arc_.prefetch(ids[ahead] / record_blocks_);
    const VmId vm = trace.request_vm[r];
    const Op op = static_cast<Op>(trace.request_op[r]);
    const Nanoseconds time = since_first_request(trace, r, rate_);
    bool waited_for_backend = false;
    MissedBlocks missed;
    for (std::size_t i = 0; i < blocks.size();) {
      std::size_t end = i + 1;
      while (end < blocks.size() && blocks[end] / record_blocks_ == blocks[i] / record_blocks_) {
        ++end;
      }
      const std::span part = blocks.subspan(i, end - i);
      const bool hit = arc_.holds(part.front() / record_blocks_);
      waited_for_backend |= op == Op::kWrite ? write(vm, part, time, covers(trace, r, i, end))
                                             : !read(vm, part, time);
      for (; i < end; ++i) missed.note(i == 0, !hit);
    }
    VmCounters& of = counters_[vm];
    of.accesses += static_cast<Count>(blocks.size());
    of.misses += missed.count;
    of.tiers[0].hits += static_cast<Count>(blocks.size()) - missed.count;
    ++of.served(op).requests[waited_for_backend ? 1 : 0];
    count_request(trace, r, missed, of);
  }
}

bool ZfsArcHost::read(VmId vm, std::span<const BlockId> blocks, Nanoseconds time) {
  const std::uint32_t record = blocks.front() / record_blocks_;
  const auto count = static_cast<Count>(blocks.size());
  VmCounters& of = counters_[vm];
  const bool hit = arc_.holds(record);
  of.reads_served.blocks[hit ? 0 : 1] += count;
  if (!hit) {
    of.backend_reads += record_blocks_;
    of.tiers[0].fills += record_blocks_;
    of.tiers[0].occupancy += record_blocks_;
    log(Op::kRead, record);
  }
  Changes changes(*this);
  return arc_.read(record, time, changes);
}

bool ZfsArcHost::write(VmId vm, std::span<const BlockId> blocks, Nanoseconds time, bool whole) {
  const std::uint32_t record = blocks.front() / record_blocks_;
  const auto count = static_cast<Count>(blocks.size());
  VmCounters& of = counters_[vm];
  const bool hit = arc_.holds(record);
  const bool waits = !hit && !whole;
  of.writes += count;
  of.writes_served.blocks[waits ? 1 : 0] += count;
  if (waits) {
    of.backend_reads += record_blocks_;
    log(Op::kRead, record);
  }
  if (hit) {
    of.tiers[0].write_hits += count;
    of.tiers[0].updates += count;
  } else {
    of.write_misses += count;
    of.tiers[0].fills += record_blocks_;
    of.tiers[0].occupancy += record_blocks_;
  }
  of.dirtied += record_blocks_;
  of.write_backs += record_blocks_;
  of.backend_writes += record_blocks_;
  log(Op::kWrite, record);
  Changes changes(*this);
  arc_.write(record, time, whole, changes);
  return waits;
}

void ZfsArcHost::log(Op op, std::uint32_t record) {
  if (backend_log_ == nullptr) return;
  for (std::uint32_t i = 0; i < record_blocks_; ++i) {
    backend_log_->push(op, static_cast<BlockId>(record * record_blocks_ + i));
  }
}

void ZfsArcHost::release(VmId vm) {
  TierCounters& tier = counters_[vm].tiers[0];
  const BlockId end = owners_.end_of(vm);
  for (BlockId block = owners_.first_of(vm); block < end; block += record_blocks_) {
    const std::uint32_t record = block / record_blocks_;
    if (arc_.holds(record)) {
      tier.invalidations += record_blocks_;
      tier.occupancy -= record_blocks_;
    }
    arc_.forget(record);
  }
}

absl::Status ZfsArcHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

absl::Status ZfsArcHost::attach(const Observers& observers) {
  backend_log_ = observers.log;
  return refuse_probe(observers);
}

absl::Status ZfsArcHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(arc_.check());
  Count held = 0;
  for (const VmCounters& vm : counters_) held += vm.tiers[0].occupancy;
  const Count found = arc_.size() * record_blocks_;
  if (held == found) return absl::OkStatus();
  return internal_error("zfs-arc: holds {} blocks, counted {}", found, held);
}

}  // namespace mcsim
