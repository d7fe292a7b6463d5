#include "core/engine/hosts/kernels/batched_chain.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mcsim {
namespace {

// The end mark after a number of accesses and their events.
Arrival end_of(std::size_t accesses) { return {0, accesses, Arrival::kWritten}; }

}  // namespace

bool BatchedChain::can_serve(const KernelSetup& setup) {
  const bool needs_next_use = setup.next_uses.size() > 0;
  return setup.chain == Chain::kExclusive && !(needs_next_use && setup.line_blocks > 1) &&
         std::ranges::all_of(setup.tiers, &Tier::independent_parts);
}

BatchedChain::BatchedChain(const KernelSetup& setup)
    : tiers_(setup.tiers),
      part_of_(setup.part_of),
      owners_(setup.owners),
      admission_(setup.admission),
      dirty_(setup.dirty),
      next_uses_(setup.next_uses),
      next_use_of_(setup.next_use_of),
      only_vm_(*std::ranges::max_element(part_of_) + 1, kNoVm),
      arrived_(part_of_.size()),
      write_backs_(part_of_.size()),
      open_tiers_(only_vm_.size()),
      dealt_end_(only_vm_.size()),
      numbered_(kChunk + 1) {
  for (std::size_t vm = 0; vm < part_of_.size(); ++vm) {
    std::size_t& only = only_vm_[part_of_[vm]];
    only = only == kNoVm ? vm : kSeveralVms;
  }
}

// Batches cannot update a copy in place, find the oldest dirty block of all parts, or determine
// whether a slower tier holds a block of a blocked VM.
bool BatchedChain::serves(const Accesses& trace, RequestRange range) const {
  if (admission_.any_blocked()) return false;
  if (dirty_.limited() && dirty_.any(WriteMode::kBack)) return false;
  if (dirty_.rules().update_around && dirty_.any(WriteMode::kAround)) return false;
  const bool interrupted = dirty_.flushes() || !trace.discards.empty();
  return !interrupted || range.end - range.begin >= kWorthABatch;
}

void BatchedChain::replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                          std::span<Found> found) {
  std::ranges::fill(arrived_, ArrivedByTier{});
  std::ranges::fill(write_backs_, 0);
  find_open_tiers();
  while (range.begin < range.end) {
    const Batch batch{trace, next_batch(trace, range)};
    serve(batch);
    range.begin = batch.range.end;
  }
  for (std::size_t vm = 0; vm < counters.size(); ++vm) add(vm, counters[vm], found[vm]);
  for (Tier& tier : tiers_) tier.count_held();
}

void BatchedChain::find_open_tiers() {
  for (std::size_t part = 0; part < open_tiers_.size(); ++part) {
    open_tiers_[part].clear();
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      if (tiers_[k].has_room(part)) open_tiers_[part].push_back(k);
    }
  }
}

RequestRange BatchedChain::next_batch(const Accesses& trace, RequestRange rest) const {
  const auto begins = trace.request_begin.begin();
  const std::size_t most = std::min<std::size_t>(rest.end, rest.begin + kBatch);
  const auto full = std::lower_bound(begins + static_cast<std::ptrdiff_t>(rest.begin) + 1,
                                     begins + static_cast<std::ptrdiff_t>(most),
                                     trace.request_begin[rest.begin] + kBatch);
  return {rest.begin, static_cast<std::size_t>(full - begins)};
}

void BatchedChain::serve(const Batch& batch) {
  deal(batch);
  slowest_.assign(batch.range.end - batch.range.begin, 0);
  std::size_t begin = 0;
  for (std::size_t part = 0; part < dealt_end_.size(); ++part) {
    while (begin < dealt_end_[part]) {
      const std::size_t count = std::min(kChunk, dealt_end_[part] - begin);
      serve_chunk({batch, part, {dealt_.arrivals.data() + begin, count}},
                  needs_next_use() ? dealt_.uses.data() + begin : nullptr);
      begin += count;
    }
  }
}

// Sort the accesses of a batch by part.
void BatchedChain::deal(const Batch& batch) {
  const auto& [trace, range] = batch;
  std::ranges::fill(dealt_end_, 0);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::uint64_t blocks = trace.request_begin[r + 1] - trace.request_begin[r];
    const VmId vm = trace.request_vm[r];
    dealt_end_[part_of_[vm]] += blocks;
    Arrived& arrived = arrived_[vm][0];
    arrived.accesses[trace.request_op[r]] += static_cast<Count>(blocks);
    arrived.requests[trace.request_op[r]] += blocks > 0 ? 1 : 0;
    if (trace.keeps_bytes && blocks > 0) {
      arrived.bytes[trace.request_op[r]] += trace.request_bytes[r];
    }
  }
  std::exclusive_scan(dealt_end_.begin(), dealt_end_.end(), dealt_end_.begin(), std::size_t{0});

  std::size_t i = trace.request_begin[range.begin];
  const std::size_t count = trace.request_begin[range.end] - i;
  dealt_.reserve(count, needs_next_use());
  Arrival* const arrivals = dealt_.arrivals.data();
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const VmId vm = trace.request_vm[r];
    const Op op = static_cast<Op>(trace.request_op[r]);
    const Arrival::Kind kind = kind_of(vm, op);
    const bool dirties = op == Op::kWrite && dirty_.mode(vm) == WriteMode::kBack &&
                         !open_tiers_[part_of_[vm]].empty();
    std::size_t& to = dealt_end_[part_of_[vm]];
    for (; i < trace.request_begin[r + 1]; ++i) {
      if (needs_next_use()) dealt_.uses[to] = next_uses_[i];
      arrivals[to++] = Arrival(trace.ids[i], r - range.begin, kind, op, dirties);
    }
  }
}

Arrival::Kind BatchedChain::kind_of(VmId vm, Op op) const {
  const bool around = op == Op::kWrite && dirty_.mode(vm) == WriteMode::kAround;
  return around ? Arrival::kTake : Arrival::kAccess;
}

// Pass accesses of a part down its tiers, and the events below the last tier to the dirty tracker.
void BatchedChain::serve_chunk(const Chunk& chunk, const NextUse* uses) {
  const std::span<const Arrival> accesses = number(chunk.dealt);
  std::span<const Arrival> arrivals = accesses;
  const std::size_t blocks = next_use_of_.size() / tiers_.size();
  const std::vector<std::size_t>& open = open_tiers_[chunk.part];
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (std::ranges::binary_search(open, k)) {
      TierCache& cache = tiers_[k].cache(chunk.part);
      below_.reserve(2 * arrivals.size() + static_cast<std::size_t>(cache.size()) + 1,
                     needs_next_use());
      const ArrivalUses all_uses{uses, next_use_of_.data() + k * blocks, below_.uses.data()};
      Arrival* const end =
          cache.serve(arrivals, below_.arrivals.data(), uses == nullptr ? nullptr : &all_uses);
      *end = end_of(accesses.size());
      std::swap(here_, below_);
      arrivals = std::span<const Arrival>(here_.arrivals.data(), end);
      if (uses != nullptr) uses = here_.uses.data();
    }
    count_arrivals(chunk, k + 1, arrivals);
  }
  if (open.empty()) return;
  if (probe_ != nullptr) report(chunk, accesses, arrivals.data());
  if (dirty_.count() > 0 || dirty_.any(WriteMode::kBack)) track_dirty(arrivals);
}

std::span<const Arrival> BatchedChain::number(std::span<const Arrival> dealt) {
  Arrival* const accesses = numbered_.data();
  for (std::size_t i = 0; i < dealt.size(); ++i) accesses[i] = dealt[i].numbered(i);
  accesses[dealt.size()] = end_of(dealt.size());
  return {accesses, dealt.size()};
}

void BatchedChain::count_arrivals(const Chunk& chunk, std::size_t tier,
                                  std::span<const Arrival> arrivals) {
  if (only_vm_[chunk.part] != kSeveralVms) {
    Arrived& arrived = arrived_[only_vm_[chunk.part]][tier];
    for (const Arrival arrival : arrivals) count_arrival(chunk, arrival, tier, arrived);
    return;
  }
  for (const Arrival arrival : arrivals) {
    count_arrival(chunk, arrival, tier, arrived_[owners_.vm_of(arrival.block())][tier]);
  }
}

void BatchedChain::count_arrival(const Chunk& chunk, Arrival arrival, std::size_t tier,
                                 Arrived& arrived) {
  if (arrival.kind() == Arrival::kVictim) {
    ++arrived.victims;
  } else if (arrival.kind() != Arrival::kWritten) {
    const auto op = static_cast<std::size_t>(arrival.op());
    std::uint8_t& slowest = slowest_[chunk.dealt[arrival.number()].number()];
    ++arrived.accesses[op];
    arrived.requests[op] += slowest < tier ? 1 : 0;
    slowest = std::max(slowest, static_cast<std::uint8_t>(tier));
    if (tier == backend() && chunk.batch.trace.keeps_bytes) {
      arrived.bytes[op] += bytes_of(chunk, arrival);
    }
  }
}

// The request's bytes in the block of an access.
Count BatchedChain::bytes_of(const Chunk& chunk, Arrival arrival) {
  const auto& [trace, range] = chunk.batch;
  const std::size_t request = range.begin + chunk.dealt[arrival.number()].number();
  const std::span<const BlockId> blocks = trace.blocks_of(request);
  if (arrival.block() == blocks.front()) return trace.bytes_in_block(request, 0);
  if (arrival.block() != blocks.back()) return trace.block_bytes;
  return trace.bytes_in_block(request, blocks.size() - 1);
}

// Track blocks that became dirty or left the chain: in that order if one access did both.
void BatchedChain::track_dirty(std::span<const Arrival> arrivals) {
  for (const Arrival arrival : arrivals) {
    const BlockId block = arrival.block();
    if (arrival.dirties()) {
      dirty_.mark(owners_.vm_of(block), block);
    } else if (arrival.kind() == Arrival::kVictim && dirty_.contains(block)) {
      const VmId vm = owners_.vm_of(block);
      ++write_backs_[vm];
      dirty_.write_back(vm, block);
    }
  }
}

// `left`: events below the last tier, terminated by an end mark.
void BatchedChain::report(const Chunk& chunk, std::span<const Arrival> accesses,
                          const Arrival* left) const {
  const std::size_t only = only_vm_[chunk.part];
  const auto vm_of = [&](BlockId block) {
    return only == kSeveralVms ? owners_.vm_of(block) : static_cast<VmId>(only);
  };
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    probe_->prefetch(accesses[std::min(i + kIndexAhead, accesses.size() - 1)].block());
    const BlockId block = accesses[i].block();
    const VmId vm = vm_of(block);
    const bool missed = left->kind() == Arrival::kTake && left->number() == i;
    const bool enters = accesses[i].kind() == Arrival::kAccess;
    if (enters) {
      missed ? probe_->inserted(vm, block) : probe_->hit(vm, block);
    } else if (!missed) {
      probe_->removed(vm, block);  // written around
    }
    for (; left->number() == i; ++left) {
      if (left->kind() == Arrival::kVictim) probe_->removed(vm_of(left->block()), left->block());
    }
    if (enters && missed) probe_->end_insertion(vm);
  }
}

// Add the counts of a range of requests. Blocks enter the fastest open tier, and its victims go to
// the next one.
void BatchedChain::add(std::size_t vm, VmCounters& of, Found& found) const {
  const ArrivedByTier& arrived = arrived_[vm];
  const std::vector<std::size_t>& open = open_tiers_[part_of_[vm]];
  const bool around = dirty_.mode(vm) == WriteMode::kAround;
  for (std::size_t k = 0; k <= backend(); ++k) {
    const Arrived& here = arrived[k];
    const Arrived& below = arrived[k + 1];
    const Count reads = here.accesses[0] - below.accesses[0];
    const Count writes = here.accesses[1] - below.accesses[1];
    const Count entering = reads + (around ? 0 : writes);
    found[0][k] += reads;
    found[1][around ? backend() : k] += writes;
    of.reads_served.blocks[k] += reads;
    of.reads_served.requests[k] += here.requests[0] - below.requests[0];
    if (open.empty()) continue;
    TierCounters& fastest = of.tiers[open.front()];
    if (k == backend()) {
      fastest.fills += entering;
      fastest.occupancy += entering;
      of.tiers[open.back()].copied_out += write_backs_[vm];
      break;
    }
    if (!std::ranges::binary_search(open, k)) continue;
    TierCounters& own = of.tiers[k];
    own.invalidations += reads + writes - entering;
    own.occupancy -= reads + writes - entering;
    if (k == open.front()) {
      own.updates += around ? 0 : writes;
    } else {
      own.demotions += here.victims;
      own.moved_up += entering;
      own.occupancy += here.victims - entering;
      fastest.promotions += entering;
      fastest.occupancy += entering;
    }
    add_victims(below.victims, k == open.back(), own);
  }
  add_requests(arrived, backend(), around, of);
  add_writes(vm, of);
}

// A request hits if nothing of it arrives at the backend. Writes around are misses.
void BatchedChain::add_requests(const ArrivedByTier& arrived, std::size_t backend, bool around,
                                VmCounters& of) {
  for (const std::size_t op : {0, 1}) {
    of.requests += arrived[0].requests[op];
    of.bytes += arrived[0].bytes[op];
    if (around && op == 1) continue;
    of.request_hits += arrived[0].requests[op] - arrived[backend].requests[op];
    of.byte_hits += arrived[0].bytes[op] - arrived[backend].bytes[op];
  }
}

// Count the victims of a tier, which leave the chain or enter the next tier.
void BatchedChain::add_victims(Count victims, bool leave, TierCounters& of) {
  of.occupancy -= victims;
  (leave ? of.evictions : of.moved_down) += victims;
  of.copied_out += leave ? 0 : victims;
}

// A write back goes to the fastest open tier, for which the VM waits; other writes go to the
// backend.
void BatchedChain::add_writes(std::size_t vm, VmCounters& of) const {
  const std::vector<std::size_t>& open = open_tiers_[part_of_[vm]];
  const bool back = dirty_.mode(vm) == WriteMode::kBack && !open.empty();
  const std::size_t served_by = back ? open.front() : backend();
  if (!back) of.backend_writes += arrived_[vm][0].accesses[1];
  of.writes_served.blocks[served_by] += arrived_[vm][0].accesses[1];
  of.writes_served.requests[served_by] += arrived_[vm][0].requests[1];
}

}  // namespace mcsim
