// How TieredHost serves many accesses at once, where no tier needs to know what a slower
// one does: core/decisions/0009-hosts.md.
#include <algorithm>
#include <numeric>

#include "core/engine/tiered_host.hpp"

namespace mcsim {

// What a batch has for a part goes through its fastest tier, what is left of that through
// the next, and so on: each tier sees what it would see if accesses were served one by one.
void TieredHost::replay_tier_by_tier(const Accesses& trace, RequestRange range) {
  std::vector<Flow> flows(counters_.size());
  for (RequestRange batch{range.begin, range.begin}; batch.begin < range.end;
       batch.begin = batch.end) {
    const auto begin = trace.request_begin.begin();
    const std::size_t most = std::min<std::size_t>(range.end, batch.begin + kBatch);
    const auto full = std::lower_bound(begin + static_cast<std::ptrdiff_t>(batch.begin) + 1,
                                       begin + static_cast<std::ptrdiff_t>(most),
                                       trace.request_begin[batch.begin] + kBatch);
    batch.end = static_cast<std::size_t>(full - begin);
    serve_batch(trace, batch, flows);
  }
  for (std::size_t vm = 0; vm < flows.size(); ++vm) add(vm, flows[vm]);
  for (Tier& tier : tiers_) tier.count_held();
}

void TieredHost::serve_batch(const Accesses& trace, RequestRange batch, std::span<Flow> flows) {
  deal(trace, batch, flows);
  slowest_.assign(batch.end - batch.begin, 0);
  const std::span vms(trace.request_vm.data() + batch.begin, slowest_.size());
  std::size_t begin = 0;
  for (std::size_t part = 0; part < dealt_.size(); ++part) {
    while (begin < dealt_[part]) {
      const std::size_t count = std::min(kStretch, dealt_[part] - begin);
      serve_stretch(part, begin, count, vms, flows);
      begin += count;
    }
  }
}

// Sorts the accesses of a batch by part.
void TieredHost::deal(const Accesses& trace, RequestRange batch, std::span<Flow> flows) {
  std::ranges::fill(dealt_, 0);
  for (std::size_t r = batch.begin; r < batch.end; ++r) {
    const std::uint64_t blocks = trace.request_begin[r + 1] - trace.request_begin[r];
    const VmId vm = trace.request_vm[r];
    dealt_[part(vm)] += blocks;
    Came& came = flows[vm].came[0];
    came.accesses[trace.request_op[r]] += static_cast<Count>(blocks);
    came.requests[trace.request_op[r]] += blocks > 0 ? 1 : 0;
  }
  std::exclusive_scan(dealt_.begin(), dealt_.end(), dealt_.begin(), std::size_t{0});

  std::size_t i = trace.request_begin[batch.begin];
  const std::size_t count = trace.request_begin[batch.end] - i;
  first_steps_.reserve(count, knows_future());
  ChainStep* const steps = first_steps_.steps.data();
  for (std::size_t r = batch.begin; r < batch.end; ++r) {
    const Op op = static_cast<Op>(trace.request_op[r]);
    std::size_t& to = dealt_[part(trace.request_vm[r])];
    for (; i < trace.request_begin[r + 1]; ++i) {
      if (knows_future()) first_steps_.uses[to] = next_uses_[i];
      steps[to++] = ChainStep(trace.ids[i], r - batch.begin, ChainStep::kAccess, op);
    }
  }
}

// Takes dealt accesses of a part down its tiers. `vms` are those of the batch's requests.
void TieredHost::serve_stretch(std::size_t part, std::size_t begin, std::size_t count,
                               std::span<const VmId> vms, std::span<Flow> flows) {
  const std::size_t sole = sole_vm_[part];
  std::span<const ChainStep> steps(first_steps_.steps.data() + begin, count);
  const NextUse* uses = knows_future() ? first_steps_.uses.data() + begin : nullptr;
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    TierCache& cache = tiers_[k].cache(part);
    next_steps_.reserve(2 * steps.size() + static_cast<std::size_t>(cache.size()), knows_future());
    const ChainUses all_uses{uses, next_use_of_.data() + k * blocks_, next_steps_.uses.data()};
    const ChainStep* const end =
        cache.serve(steps, next_steps_.steps.data(), uses == nullptr ? nullptr : &all_uses);
    std::swap(steps_, next_steps_);
    steps = std::span<const ChainStep>(steps_.steps.data(), end);
    if (uses != nullptr) uses = steps_.uses.data();
    if (sole != kSeveral) {
      Came& came = flows[sole].came[k + 1];
      for (const ChainStep step : steps) count_step(step, k + 1, came);
    } else {
      for (const ChainStep step : steps) {
        const bool victim = step.kind() == ChainStep::kVictim;
        const std::size_t vm = victim ? vm_of(step.block()) : vms[step.request()];
        count_step(step, k + 1, flows[vm].came[k + 1]);
      }
    }
  }
}

void TieredHost::count_step(ChainStep step, std::size_t tier, Came& came) {
  if (step.kind() == ChainStep::kVictim) {
    ++came.victims;
    return;
  }
  const auto op = static_cast<std::size_t>(step.op());
  std::uint8_t& slowest = slowest_[step.request()];
  ++came.accesses[op];
  came.requests[op] += slowest < tier ? 1 : 0;
  slowest = std::max(slowest, static_cast<std::uint8_t>(tier));
}

// Counts what a range of requests did. Blocks come into the fastest tier that has room
// for the VM, and its victims go to the next one that has.
void TieredHost::add(std::size_t vm, const Flow& flow) {
  VmCounters& of = counters_[vm];
  std::array<Count, kMaxTiers + 1> found{};
  for (std::size_t k = 0; k <= backend(); ++k) {
    const Came& came = flow.came[k];
    const Came& left = flow.came[k + 1];
    for (std::size_t op = 0; op < 2; ++op) {
      const Count blocks = came.accesses[op] - left.accesses[op];
      tallies_[vm].found[op][k] += blocks;
      found[k] += blocks;
    }
    of.reads_served.blocks[k] += came.accesses[0] - left.accesses[0];
    of.reads_served.requests[k] += came.requests[0] - left.requests[0];
  }
  const Count all_writes = flow.came[0].accesses[1];
  of.writes_served.blocks[backend()] += all_writes;
  of.writes_served.requests[backend()] += flow.came[0].requests[1];
  of.backend_writes += all_writes;

  TierCounters* home = nullptr;
  TierCounters* above = nullptr;
  Count from_above = 0;
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (!tiers_[k].has_room(part(vm))) continue;
    TierCounters& own = count(vm, k);
    if (home == nullptr) {
      home = &own;
      own.updates += flow.came[k].accesses[1] - flow.came[k + 1].accesses[1];
    } else {
      own.moved_up += found[k];
      own.demotions += from_above;
      own.occupancy += from_above - found[k];
      above->moved_down += from_above;
      home->promotions += found[k];
      home->occupancy += found[k];
    }
    from_above = flow.came[k + 1].victims;
    own.occupancy -= from_above;
    above = &own;
  }
  if (home == nullptr) return;
  home->fills += found[backend()];
  home->occupancy += found[backend()];
  above->evictions += from_above;
}

}  // namespace mcsim
