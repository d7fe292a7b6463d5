#include "policies/hosts/dm_cache_host.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace mcsim {
namespace {

// Prefetch distance, in accesses.
constexpr std::size_t kAhead = 16;

// The number of each line of the trace on the device of its VM, and the lines of all devices.
struct LineNumbers {
  std::vector<std::uint64_t> number;
  std::uint64_t total = 0;
};

// Devices end with the last line that the trace accesses.
LineNumbers number_lines(const Accesses& trace) {
  const std::size_t line_blocks = trace.line_blocks;
  const std::uint64_t line_bytes = std::uint64_t{trace.block_bytes} * line_blocks;
  LineNumbers lines{.number = std::vector<std::uint64_t>(trace.id_count() / line_blocks)};
  for (const VmInfo& vm : trace.vms) {
    const std::size_t first = vm.first_id / line_blocks;
    const std::size_t end = first + static_cast<std::size_t>(vm.unique_blocks) / line_blocks;
    std::uint64_t device_lines = 0;
    for (std::size_t line = first; line < end; ++line) {
      lines.number[line] = trace.keeps_addresses
                               ? trace.block_address[line * line_blocks] / line_bytes
                               : line - first;
      device_lines = std::max(device_lines, lines.number[line] + 1);
    }
    lines.total += device_lines;
  }
  return lines;
}

struct NoChanges {
  void promoted(std::uint32_t, bool) {}
  void demoted(std::uint32_t) {}
  void dirtied(std::uint32_t) {}
  void cleaned(std::uint32_t) {}
};

}  // namespace

// Counts the changes of cache blocks.
class DmCacheHost::Changes {
 public:
  explicit Changes(DmCacheHost& host) : host_(host) {}

  void promoted(std::uint32_t line, bool dirty) {
    VmCounters& vm = host_.owner(line);
    vm.tiers[0].fills += blocks();
    vm.tiers[0].occupancy += blocks();
    if (dirty) return dirtied(line);
    vm.backend_reads += blocks();
    host_.log_line(Op::kRead, line);
  }
  void demoted(std::uint32_t line) {
    TierCounters& tier = host_.owner(line).tiers[0];
    tier.evictions += blocks();
    tier.occupancy -= blocks();
  }
  void dirtied(std::uint32_t line) {
    VmCounters& vm = host_.owner(line);
    vm.dirtied += blocks();
    vm.dirty += blocks();
  }
  void cleaned(std::uint32_t line) {
    VmCounters& vm = host_.owner(line);
    vm.dirty -= blocks();
    vm.write_backs += blocks();
    vm.backend_writes += blocks();
    vm.tiers[0].copied_out += blocks();
    host_.log_line(Op::kWrite, line);
  }

 private:
  Count blocks() const { return host_.line_blocks_; }

  DmCacheHost& host_;
};

// Return the lines and regions of the origin that the trace accesses, or a dump has.
absl::StatusOr<DmCacheHost::Geometry> DmCacheHost::geometry_of(const DmCacheSetup& setup,
                                                               const Accesses& trace) {
  const std::size_t line_blocks = trace.line_blocks;
  const std::uint64_t line_bytes = std::uint64_t{trace.block_bytes} * line_blocks;
  const LineNumbers lines = number_lines(trace);
  std::uint64_t origin_lines = lines.total;
  if (setup.origin_bytes > 0) {
    if (setup.origin_bytes / line_bytes < origin_lines) {
      return invalid_argument(
          "origin_gib: the trace accesses {:.4g} GiB, more than the origin's {:.4g} GiB",
          static_cast<double>(origin_lines * line_bytes) / (1 << 30),
          static_cast<double>(setup.origin_bytes) / (1 << 30));
    }
    origin_lines = setup.origin_bytes / line_bytes;
  }
  Geometry geometry{.region_of = std::vector<std::uint32_t>(lines.number.size())};
  const auto entries = static_cast<std::size_t>(setup.capacity) / line_blocks;
  if (setup.dump != nullptr) {
    MCSIM_ASSIGN_OR_RETURN(
        geometry.dumped, lines_of_dump(*setup.dump, trace,
                                       {.entries = entries,
                                        .policy = setup.policy,
                                        .may_be_dirty = setup.writes != DmCacheWrites::kPassthrough,
                                        .origin_lines = setup.origin_bytes > 0 ? origin_lines : 0,
                                        .line_numbers = lines.number}));
    for (const CacheDump::Mapping& of : setup.dump->mappings) {
      origin_lines = std::max(origin_lines, of.origin_block + 1);
    }
  }
  geometry.region_lines = Smq::region_lines(entries, origin_lines);
  geometry.number_regions(trace, lines.number);
  return geometry;
}

// Number the regions of the lines with these numbers on their devices.
void DmCacheHost::Geometry::number_regions(const Accesses& trace,
                                           std::span<const std::uint64_t> number) {
  const std::size_t line_blocks = trace.line_blocks;
  for (const VmInfo& vm : trace.vms) {
    const std::size_t first = vm.first_id / line_blocks;
    const std::size_t end = first + static_cast<std::size_t>(vm.unique_blocks) / line_blocks;
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    for (std::size_t line = first; line < end; ++line) {
      const auto next = static_cast<std::uint32_t>(regions);
      const auto [found, is_new] = known.try_emplace(number[line] / region_lines, next);
      regions += is_new ? 1 : 0;
      region_of[line] = found->second;
    }
  }
}

absl::StatusOr<std::unique_ptr<DmCacheHost>> DmCacheHost::make(const DmCacheSetup& setup,
                                                               const Accesses& trace) {
  MCSIM_ASSIGN_OR_RETURN(Geometry geometry, geometry_of(setup, trace));
  return std::unique_ptr<DmCacheHost>(new DmCacheHost(setup, trace, std::move(geometry)));
}

DmCacheHost::DmCacheHost(const DmCacheSetup& setup, const Accesses& trace, Geometry geometry)
    : setup_(setup),
      line_blocks_(trace.line_blocks),
      owners_(trace),
      region_of_(std::move(geometry.region_of)),
      smq_({.entries = static_cast<std::size_t>(setup.capacity) / trace.line_blocks,
            .lines = region_of_.size() + geometry.dumped.unaccessed,
            .regions = geometry.regions,
            .region_lines = geometry.region_lines,
            .hz = setup.hz,
            .created = jiffies_at(setup.created, setup.hz),
            .writes_back = setup.writes == DmCacheWrites::kBack,
            .promotes =
                setup.policy == DmCachePolicy::kSmq && setup.writes != DmCacheWrites::kPassthrough,
            .drops_written = setup.writes == DmCacheWrites::kPassthrough,
            .cleans_when_idle =
                Count{trace.block_bytes} * trace.line_blocks <= setup.migration_threshold}),
      counters_(trace.vms.size()) {
  for (VmCounters& vm : counters_) {
    vm.tiers.push_back({.target = setup.capacity / line_blocks_ * line_blocks_});
  }
  for (Count phase = 1; phase < setup.phases; ++phase) {
    replicas_.push_back(
        {.smq = Smq(smq_.setup()), .first = setup.first + phase * kSecond / setup.phases});
  }
  load(geometry.dumped.mappings);
}

void DmCacheHost::load(std::span<const SmqMapping> mappings) {
  smq_.load(mappings);
  for (Replica& replica : replicas_) replica.smq.load(mappings);
  for (const SmqMapping& of : mappings) {
    counters_.front().tiers[0].occupancy += line_blocks_;
    counters_.front().dirty += of.is_dirty ? Count{line_blocks_} : 0;
  }
}

void DmCacheHost::replay(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const std::size_t ahead = trace.request_begin[r] + kAhead;
    if (ahead < ids.size()) smq_.prefetch(ids[ahead] / line_blocks_);
    const VmId vm = trace.request_vm[r];
    const Op op = static_cast<Op>(trace.request_op[r]);
    const Nanoseconds since = since_first_request(trace, r, setup_.rate);
    bool waited_for_backend = false;
    MissedBlocks missed;
    for (std::size_t i = 0; i < blocks.size();) {
      std::size_t end = i + 1;
      while (end < blocks.size() && blocks[end] / line_blocks_ == blocks[i] / line_blocks_) ++end;
      const bool whole = end - i == line_blocks_ && covers(trace, r, i, end);
      const SmqOutcome outcome = request(op, blocks[i] / line_blocks_, since, whole, end - i);
      waited_for_backend |= count(vm, op, blocks.subspan(i, end - i), outcome);
      for (; i < end; ++i) missed.note(i == 0, outcome != SmqOutcome::kHit);
    }
    count_request(trace, r, missed, counters_[vm]);
    ++counters_[vm].served(op).requests[waited_for_backend ? 1 : 0];
  }
}

// The kernel's time at a request. Most requests are in the jiffy of the one before.
Jiffies DmCacheHost::now(Nanoseconds since_first) {
  const Nanoseconds time = setup_.first + since_first;
  if (time < jiffy_end_) return jiffy_;
  jiffy_ = jiffies_at(time, setup_.hz);
  const Jiffies next = jiffy_ + 1;
  const Nanoseconds rest = next % setup_.hz * kSecond;
  jiffy_end_ = next / setup_.hz * kSecond + (rest + setup_.hz - 1) / setup_.hz;
  return jiffy_;
}

// Return whether a request covers all bytes of its blocks with the indices [begin, end).
bool DmCacheHost::covers(const Accesses& trace, std::size_t request, std::size_t begin,
                         std::size_t end) {
  if (!trace.keeps_bytes) return true;
  const Count block = trace.block_bytes;
  return trace.bytes_in_block(request, begin) == block &&
         trace.bytes_in_block(request, end - 1) == block;
}

SmqOutcome DmCacheHost::request(Op op, std::uint32_t line, Nanoseconds since_first, bool whole,
                                std::size_t blocks) {
  const std::uint32_t region = region_of_[line];
  for (Replica& replica : replicas_) {
    NoChanges none;
    const Jiffies time = jiffies_at(replica.first + since_first, setup_.hz);
    const SmqOutcome outcome = replica.smq.request(time, line, region, op, whole, none);
    replica.hits += outcome == SmqOutcome::kHit ? static_cast<Count>(blocks) : 0;
  }
  Changes changes(*this);
  return smq_.request(now(since_first), line, region, op, whole, changes);
}

bool DmCacheHost::count(VmId vm, Op op, std::span<const BlockId> blocks, SmqOutcome outcome) {
  const auto count = static_cast<Count>(blocks.size());
  const bool passes = setup_.writes == DmCacheWrites::kPassthrough;
  const Count writes = op == Op::kWrite ? count : 0;
  const bool hit = outcome == SmqOutcome::kHit;
  VmCounters& of = counters_[vm];
  of.accesses += count;
  of.writes += writes;
  if (hit) {
    of.tiers[0].hits += count;
    of.tiers[0].write_hits += writes;
    of.tiers[0].updates += passes ? 0 : writes;
  } else {
    of.misses += count;
    of.write_misses += writes;
  }
  const bool stays = outcome == SmqOutcome::kPromoted ||
                     (hit && !passes &&
                      (op == Op::kRead || setup_.writes == DmCacheWrites::kBack ||
                       smq_.is_dirty(blocks.front() / line_blocks_)));
  of.served(op).blocks[stays ? 0 : 1] += count;
  if (stays) return false;
  (op == Op::kWrite ? of.backend_writes : of.backend_reads) += count;
  log(op, blocks);
  return true;
}

void DmCacheHost::log(Op op, std::span<const BlockId> blocks) {
  if (backend_log_ == nullptr) return;
  for (const BlockId block : blocks) backend_log_->push(op, block);
}

void DmCacheHost::log_line(Op op, std::uint32_t line) {
  if (backend_log_ == nullptr) return;
  for (std::uint32_t i = 0; i < line_blocks_; ++i) {
    backend_log_->push(op, static_cast<BlockId>(line * line_blocks_ + i));
  }
}

absl::Status DmCacheHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

absl::Status DmCacheHost::attach(const Observers& observers) {
  if (observers.log != nullptr && setup_.dump != nullptr) {
    return absl::FailedPreconditionError("cache_dump: the log has no blocks outside of the trace");
  }
  backend_log_ = observers.log;
  return refuse_probe(observers);
}

void DmCacheHost::release(VmId vm) {
  Changes changes(*this);
  TierCounters& tier = counters_[vm].tiers[0];
  const Count evictions = tier.evictions;
  const auto drop = [&](std::size_t begin, std::size_t end) {
    for (auto line = static_cast<std::uint32_t>(begin); line < end; ++line) {
      smq_.drop(line, changes);
      NoChanges none;
      for (Replica& replica : replicas_) replica.smq.drop(line, none);
    }
  };
  drop(owners_.first_of(vm) / line_blocks_, owners_.end_of(vm) / line_blocks_);
  drop(region_of_.size(), smq_.setup().lines);
  tier.invalidations += tier.evictions - evictions;
  tier.evictions = evictions;
}

std::pair<Count, Count> DmCacheHost::range_of_hits() const {
  Count hits = 0;
  for (const VmCounters& vm : counters_) hits += vm.tiers[0].hits;
  std::pair range(hits, hits);
  for (const Replica& replica : replicas_) {
    range = {std::min(range.first, replica.hits), std::max(range.second, replica.hits)};
  }
  return range;
}

absl::Status DmCacheHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(smq_.check());
  Count held = 0;
  Count dirty = 0;
  for (const VmCounters& vm : counters_) {
    held += vm.tiers[0].occupancy;
    dirty += vm.dirty;
  }
  Count found_dirty = 0;
  for (std::uint32_t line = 0; line < smq_.setup().lines; ++line) {
    found_dirty += smq_.is_dirty(line) ? Count{line_blocks_} : 0;
  }
  const auto found = static_cast<Count>(smq_.size()) * line_blocks_;
  if (held == found && dirty == found_dirty && held <= setup_.capacity) return absl::OkStatus();
  return internal_error("dm-cache: holds {} blocks, {} of them dirty, counted {} and {}", found,
                        found_dirty, held, dirty);
}

}  // namespace mcsim
