#include "core/locality/profile/vm_pass.hpp"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.hpp"

namespace mcsim {
namespace {

// Few enough that their distances stay in the CPU caches, many enough that the distance loop runs
// long.
constexpr std::size_t kBatchAccesses = std::size_t{1} << 14;

std::size_t blocks_of(const Accesses& trace, VmId vm) {
  return static_cast<std::size_t>(trace.vms[vm].unique_blocks);
}

// Counts the distances of a stream, and stores the depths of the blocks that leave the stack.
void measure(std::span<const std::uint32_t> blocks, DenseDistances& stack,
             Batch::Distances& distances) {
  distances.of_accesses.resize(blocks.size());
  std::size_t done = 0;
  const auto count_up_to = [&](std::size_t end) {
    if (end == done) return;
    stack.process(blocks.subspan(done, end - done),
                  std::span(distances.of_accesses).subspan(done, end - done));
    done = end;
  };
  for (Removal& removal : distances.removals) {
    count_up_to(removal.at);
    removal.depth = stack.discard(removal.block);
  }
  count_up_to(blocks.size());
}

}  // namespace

VmTimerGroup::VmTimerGroup(const Accesses& trace, const MeterPlan& plan, TimerGroup& group, VmId vm)
    : trace_(trace), inputs_(plan.inputs()), periods_(group.periods) {
  for (TimerGroup::Meter& meter : group.meters) {
    meters_.push_back(make_meter(plan.setup(group, meter), vm, *meter.measured));
  }
  std::erase(meters_, nullptr);
}

void VmTimerGroup::count(const Batch& batch) {
  if (meters_.empty()) return;
  std::size_t first = 0;
  Place begin;
  Place end;
  const auto count_up_to = [&](std::size_t i) {
    const std::vector<Removal>& removals = batch.around.removals;
    while (end.removal_around < removals.size() && removals[end.removal_around].at <= end.read) {
      ++end.removal_around;
    }
    count_between(batch, batch.requests.subspan(first, i - first), begin, end);
    first = i;
    begin = end;
  };
  // Discards come before the decision at the end of a period, as in a run.
  const auto discard_before = [&](std::size_t i, std::size_t r) {
    for (; end.discard < batch.discards.size(); ++end.discard) {
      const std::size_t before = batch.discards[end.discard].request;
      if (before > r) break;
      if (before <= periods_[period_].cut) continue;
      count_up_to(i);
      end_periods_up_to(before);
    }
  };
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const std::size_t r = batch.requests[i];
    if (!batch.discards.empty()) discard_before(i, r);
    if (r >= next_cut_) {
      count_up_to(i);
      cut_before(r);
    }
    const auto accesses = static_cast<std::size_t>(trace_.accesses_in({r, r + 1}));
    end.access += accesses;
    if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) end.read += accesses;
  }
  discard_before(batch.requests.size(), trace_.request_count());
  count_up_to(batch.requests.size());
}

void VmTimerGroup::finish() {
  while (period_ < periods_.size()) end_period();
}

void VmTimerGroup::count_between(const Batch& batch, std::span<const std::size_t> requests,
                                 Place begin, Place end) {
  const auto part = [&](const std::vector<std::uint8_t>& of) {
    const std::span<const std::uint8_t> all(of);
    return all.empty() ? all : all.subspan(begin.access, end.access - begin.access);
  };
  const auto stream = [](std::span<const std::uint32_t> blocks, const Batch::Distances& distances,
                         std::size_t first, std::size_t count, std::size_t removal,
                         std::size_t removals) {
    return Stream{.blocks = blocks.subspan(first, count),
                  .distances = std::span(distances.of_accesses).subspan(first, count),
                  .removals = std::span(distances.removals).subspan(removal, removals),
                  .first = first};
  };
  const std::size_t discards = end.discard - begin.discard;
  Chunk chunk{.requests = requests,
              .all = stream(batch.blocks, batch.all, begin.access, end.access - begin.access,
                            begin.discard, discards),
              .reads = {},
              .around = {},
              .writes = part(batch.writes),
              .written_before = part(batch.written_before)};
  chunk.reads = chunk.around = chunk.all;
  const std::size_t reads = end.read - begin.read;
  if (inputs_.reads_apart) {
    chunk.reads =
        stream(batch.read_blocks, batch.reads, begin.read, reads, begin.discard, discards);
  }
  if (inputs_.reads_around) {
    chunk.around = stream(batch.read_blocks, batch.around, begin.read, reads, begin.removal_around,
                          end.removal_around - begin.removal_around);
  }
  for (const auto& meter : meters_) meter->count(chunk);
}

void VmTimerGroup::cut_before(std::size_t r) {
  while (r >= periods_[period_].cut) end_period();
  next_cut_ = periods_[period_].cut;
  for (const auto& meter : meters_) {
    meter->begin_request(r);
    next_cut_ = std::min(next_cut_, meter->next_cut());
  }
}

// Ends the periods before the one of a discard before this request.
void VmTimerGroup::end_periods_up_to(std::size_t discarded_before) {
  while (discarded_before > periods_[period_].cut) end_period();
}

void VmTimerGroup::end_period() {
  for (const auto& meter : meters_) meter->end_period(period_);
  ++period_;
}

VmPass::VmPass(const Accesses& trace, MeterPlan& plan, VmId vm, std::vector<Discard> discards)
    : trace_(trace),
      first_id_(trace.vms[vm].first_id),
      inputs_(plan.inputs()),
      discards_(std::move(discards)),
      distances_(blocks_of(trace, vm)) {
  if (inputs_.reads_apart) read_distances_.emplace(blocks_of(trace, vm));
  if (inputs_.reads_around) around_distances_.emplace(blocks_of(trace, vm));
  if (inputs_.previous_operations) written_.resize(blocks_of(trace, vm));
  for (TimerGroup& group : plan.groups()) groups_.emplace_back(trace, plan, group, vm);
}

void VmPass::replay(std::span<const std::size_t> requests, Batch& batch) {
  while (!requests.empty()) {
    if (requests.front() >= trace_.warm_up) end_warm_up();
    fill(requests, batch);
    count(batch);
    requests = requests.subspan(batch.requests.size());
  }
}

void VmPass::finish() {
  end_warm_up();
  if (discarded_ < discards_.size()) {
    Batch batch;
    batch.discards = std::span(discards_).subspan(discarded_);
    add_discards(trace_.request_count(), batch);
    count(batch);
  }
  for (VmTimerGroup& meters : groups_) meters.finish();
}

// Fills a batch with the first requests, without crossing the end of the warm-up, and the discards
// before them.
void VmPass::fill(std::span<const std::size_t> requests, Batch& batch) {
  batch.blocks.clear();
  batch.all.removals.clear();
  const std::size_t first = discarded_;
  const bool discards = first < discards_.size();
  std::size_t taken = 0;
  for (const std::size_t r : requests) {
    prefetch(requests, taken);
    if (batch.blocks.size() >= kBatchAccesses || (!warm_ && r >= trace_.warm_up)) break;
    if (discards) add_discards(r, batch);
    for (const BlockId id : trace_.blocks_of(r)) batch.blocks.push_back(id - first_id_);
    ++taken;
  }
  batch.requests = requests.first(taken);
  batch.discards = std::span(discards_).subspan(first, discarded_ - first);
}

// Adds the VM's next discards, up to those before a request.
void VmPass::add_discards(std::size_t before, Batch& batch) {
  for (; discarded_ < discards_.size() && discards_[discarded_].request <= before; ++discarded_) {
    batch.all.removals.push_back(
        {.at = batch.blocks.size(), .block = discards_[discarded_].block - first_id_});
  }
}

void VmPass::count(Batch& batch) {
  measure(batch.blocks, distances_, batch.all);
  if (inputs_.operations || inputs_.reads_apart || inputs_.reads_around) add_operations(batch);
  for (VmTimerGroup& meters : groups_) meters.count(batch);
}

// Prefetches, because requests of one VM among many lie far apart.
void VmPass::prefetch(std::span<const std::size_t> requests, std::size_t i) const {
  constexpr std::size_t kAhead = 16;
  if (i + 2 * kAhead < requests.size()) {
    const std::size_t r = requests[i + 2 * kAhead];
    prefetch_line(&trace_.request_begin[r]);
    prefetch_line(&trace_.request_op[r]);
  }
  if (i + kAhead < requests.size()) {
    prefetch_line(trace_.ids.data() + trace_.request_begin[requests[i + kAhead]]);
  }
}

void VmPass::add_operations(Batch& batch) {
  batch.writes.clear();
  batch.written_before.clear();
  batch.read_blocks.clear();
  batch.reads.removals.clear();
  batch.around.removals.clear();
  const PassInputs inputs = inputs_;
  const bool adds_reads = inputs.reads_apart || inputs.reads_around;
  std::size_t discard = 0;
  const auto discard_before = [&](std::size_t r) {
    for (; discard < batch.discards.size() && batch.discards[discard].request <= r; ++discard) {
      const Removal removal{.at = batch.read_blocks.size(),
                            .block = batch.discards[discard].block - first_id_};
      batch.reads.removals.push_back(removal);
      batch.around.removals.push_back(removal);
    }
  };
  for (const std::size_t r : batch.requests) {
    if (!batch.discards.empty()) discard_before(r);
    const std::uint8_t op = trace_.request_op[r];
    const bool reads = static_cast<Op>(op) == Op::kRead;
    for (const BlockId id : trace_.blocks_of(r)) {
      const std::uint32_t block = id - first_id_;
      if (inputs.operations) batch.writes.push_back(op);
      if (inputs.previous_operations)
        batch.written_before.push_back(std::exchange(written_[block], op));
      if (adds_reads && reads) {
        batch.read_blocks.push_back(block);
      } else if (inputs.reads_around) {
        batch.around.removals.push_back({.at = batch.read_blocks.size(), .block = block});
      }
    }
  }
  discard_before(trace_.request_count());
  if (inputs_.reads_apart) measure(batch.read_blocks, *read_distances_, batch.reads);
  if (!inputs_.reads_around) return;
  measure(batch.read_blocks, *around_distances_, batch.around);
  std::erase_if(batch.around.removals, [](const Removal& of) { return of.depth == kCold; });
}

void VmPass::end_warm_up() {
  if (!warm_) distances_.clear_counts();
  warm_ = true;
}

}  // namespace mcsim
