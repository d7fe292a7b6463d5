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

}  // namespace

VmTimerGroup::VmTimerGroup(const Accesses& trace, const MeterPlan& plan, TimerGroup& group, VmId vm)
    : trace_(trace), periods_(group.periods) {
  for (TimerGroup::Meter& meter : group.meters) {
    meters_.push_back(make_meter(plan.setup(group, meter), vm, *meter.measured));
  }
  std::erase(meters_, nullptr);
}

void VmTimerGroup::count(const Batch& batch, bool reads_apart) {
  if (meters_.empty()) return;
  std::size_t first = 0;
  Place begin;
  Place end;
  const auto count_up_to = [&](std::size_t i) {
    count_between(batch, batch.requests.subspan(first, i - first), begin, end, reads_apart);
    first = i;
    begin = end;
  };
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const std::size_t r = batch.requests[i];
    if (r >= next_cut_) {
      count_up_to(i);
      cut_before(r);
    }
    const auto accesses = static_cast<std::size_t>(trace_.accesses_in({r, r + 1}));
    end.access += accesses;
    if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) end.read += accesses;
  }
  count_up_to(batch.requests.size());
}

void VmTimerGroup::finish() {
  while (period_ < periods_.size()) end_period();
}

void VmTimerGroup::count_between(const Batch& batch, std::span<const std::size_t> requests,
                                 Place begin, Place end, bool reads_apart) {
  const auto part = [&](const std::vector<std::uint8_t>& of) {
    const std::span<const std::uint8_t> all(of);
    return all.empty() ? all : all.subspan(begin.access, end.access - begin.access);
  };
  Chunk chunk{.requests = requests,
              .all = Stream{batch.blocks, batch.distances}.slice(begin.access, end.access),
              .reads = {},
              .writes = part(batch.writes),
              .written_before = part(batch.written_before)};
  const Stream reads{batch.read_blocks, batch.read_distances};
  chunk.reads = reads_apart ? reads.slice(begin.read, end.read) : chunk.all;
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

void VmTimerGroup::end_period() {
  for (const auto& meter : meters_) meter->end_period(period_);
  ++period_;
}

VmPass::VmPass(const Accesses& trace, MeterPlan& plan, VmId vm)
    : trace_(trace),
      first_id_(trace.vms[vm].first_id),
      inputs_(plan.inputs()),
      distances_(blocks_of(trace, vm)) {
  if (inputs_.reads_apart) read_distances_.emplace(blocks_of(trace, vm));
  if (inputs_.previous_operations) written_.resize(blocks_of(trace, vm));
  for (TimerGroup& group : plan.groups()) groups_.emplace_back(trace, plan, group, vm);
}

void VmPass::replay(std::span<const std::size_t> requests, Batch& batch) {
  while (!requests.empty()) {
    if (requests.front() >= trace_.warm_up) end_warm_up();
    batch.requests = requests.first(fill(requests, batch.blocks));
    batch.distances.resize(batch.blocks.size());
    distances_.process(batch.blocks, batch.distances);
    if (inputs_.operations || inputs_.reads_apart) add_operations(batch);
    for (VmTimerGroup& meters : groups_) meters.count(batch, inputs_.reads_apart);
    requests = requests.subspan(batch.requests.size());
  }
}

void VmPass::finish() {
  end_warm_up();
  for (VmTimerGroup& meters : groups_) meters.finish();
}

// Appends the blocks of the first requests, up to the batch size and without crossing the end of
// the warm-up. Returns the number of these requests.
std::size_t VmPass::fill(std::span<const std::size_t> requests,
                         std::vector<std::uint32_t>& blocks) const {
  blocks.clear();
  std::size_t taken = 0;
  for (const std::size_t r : requests) {
    prefetch(requests, taken);
    if (blocks.size() >= kBatchAccesses || (!warm_ && r >= trace_.warm_up)) break;
    for (const BlockId id : trace_.blocks_of(r)) blocks.push_back(id - first_id_);
    ++taken;
  }
  return taken;
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
  for (const std::size_t r : batch.requests) {
    const std::uint8_t op = trace_.request_op[r];
    const bool reads = static_cast<Op>(op) == Op::kRead;
    for (const BlockId id : trace_.blocks_of(r)) {
      const std::uint32_t block = id - first_id_;
      if (inputs_.operations) batch.writes.push_back(op);
      if (inputs_.previous_operations)
        batch.written_before.push_back(std::exchange(written_[block], op));
      if (inputs_.reads_apart && reads) batch.read_blocks.push_back(block);
    }
  }
  if (!inputs_.reads_apart) return;
  batch.read_distances.resize(batch.read_blocks.size());
  read_distances_->process(batch.read_blocks, batch.read_distances);
}

void VmPass::end_warm_up() {
  if (!warm_) distances_.clear_counts();
  warm_ = true;
}

}  // namespace mcsim
