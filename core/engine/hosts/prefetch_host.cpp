#include "core/engine/hosts/prefetch_host.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/engine/hosts/request_context.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> PrefetchHost::make(std::unique_ptr<Prefetcher> prefetcher,
                                                         std::size_t tier, std::size_t tiers,
                                                         const Accesses& trace,
                                                         const MakeTiers& make_tiers) {
  MCSIM_ASSIGN_OR_RETURN(PrefetchIds ids, PrefetchIds::make(trace, *prefetcher));
  std::unique_ptr<PrefetchHost> host(
      new PrefetchHost(std::move(prefetcher), tier, tiers, std::move(ids), trace));
  MCSIM_ASSIGN_OR_RETURN(host->tiers_, make_tiers(host->trace_));
  host->tiers_->report_found(host->found_);
  return host;
}

void PrefetchHost::replay(const Accesses& trace, RequestRange range) {
  if (unread_.size() >= compact_at_) compact();
  for (std::size_t r = range.begin; r < range.end; ++r) {
    found_.clear();
    tiers_->replay(trace_, {r, r + 1});
    if (found_.empty()) continue;
    note_outcomes(r);
    if (static_cast<Op>(trace_.request_op[r]) == Op::kRead) prefetch_after(trace, r);
  }
}

// Count the prefetched blocks of a request as used or wasted.
void PrefetchHost::note_outcomes(std::size_t request) {
  const std::span<const BlockId> blocks = trace_.blocks_of(request);
  const bool reads = static_cast<Op>(trace_.request_op[request]) == Op::kRead;
  Counts& counts = counts_[trace_.request_vm[request]];
  outcomes_.clear();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::uint8_t& state = state_[blocks[i]];
    const bool is_hit = found_[i] < backend_;
    const bool is_first_read = reads && is_hit && (state & kUnread) != 0;
    if ((state & kUnread) != 0) ++(is_first_read ? counts.used : counts.wasted);
    outcomes_.push_back(is_first_read ? ReadOutcome::kFirstRead
                        : is_hit      ? ReadOutcome::kHit
                                      : ReadOutcome::kMiss);
    state &= static_cast<std::uint8_t>(is_hit ? ~kUnread : ~(kUnread | kMarked));
  }
}

void PrefetchHost::prefetch_after(const Accesses& trace, std::size_t request) {
  const RequestContext context = context_of(trace, request, true);
  const PrefetchRead read{
      .context = context,
      .first = trace.block_address[trace.blocks_of(request).front()] / trace.block_bytes,
      .blocks = outcomes_};
  request_ = &read;
  prefetcher_->read(read, *this);
  request_ = nullptr;
}

bool PrefetchHost::holds(std::uint64_t address) const {
  const VmId vm = request_->context.vm;
  const std::optional<BlockId> block = ids_.find(vm, address);
  return block && is_held(vm, *block);
}

bool PrefetchHost::take_mark(std::uint64_t address) {
  const std::optional<BlockId> block = ids_.find(request_->context.vm, address);
  if (!block || (state_[*block] & kMarked) == 0) return false;
  state_[*block] &= static_cast<std::uint8_t>(~kMarked);
  return is_held(request_->context.vm, *block);
}

void PrefetchHost::prefetch(std::uint64_t begin, std::uint64_t end, std::uint64_t mark) {
  const VmId vm = request_->context.vm;
  const std::uint64_t last = std::min(end, ids_.end_of(vm));
  for (std::uint64_t address = begin; address < last; ++address) {
    const std::optional<BlockId> block = ids_.find(vm, address);
    assert(block);
    if (is_requested(address)) {
      if (request_->blocks[address - request_->first] != ReadOutcome::kMiss) continue;
    } else {
      if (!tiers_->prefetch(tier_, request_->context, *block)) continue;
      note_prefetched(vm, *block);
    }
    if (address == mark && is_held(vm, *block)) state_[*block] |= kMarked;
  }
}

void PrefetchHost::note_prefetched(VmId vm, BlockId block) {
  std::uint8_t& state = state_[block];
  if ((state & kUnread) != 0) ++counts_[vm].wasted;
  ++counts_[vm].prefetched;
  if ((state & kListed) == 0) unread_.push_back(block);
  state = kUnread | kListed;
}

void PrefetchHost::compact() {
  std::erase_if(unread_, [&](BlockId block) {
    std::uint8_t& state = state_[block];
    const VmId vm = owners_.vm_of(block);
    const bool is_unread = (state & kUnread) != 0;
    if (is_unread && is_held(vm, block)) return false;
    if (is_unread) ++counts_[vm].wasted;
    state &= static_cast<std::uint8_t>(~(kUnread | kListed));
    return true;
  });
  compact_at_ = std::max<std::size_t>(1024, 2 * unread_.size());
}

absl::Status PrefetchHost::attach(const Observers& observers) {
  MCSIM_RETURN_IF_ERROR(refuse_probe(observers));
  if (observers.log == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("prefetch: the misses of the cache cannot be written");
}

void PrefetchHost::discard(std::span<const BlockId> blocks) {
  std::vector<BlockId> renumbered(blocks.size());
  std::ranges::transform(blocks, renumbered.begin(), [&](BlockId id) { return ids_.id_of(id); });
  tiers_->discard(renumbered);
}

std::vector<VmCounters> PrefetchHost::counters() const {
  std::vector<VmCounters> all = tiers_->counters();
  for (std::size_t vm = 0; vm < all.size(); ++vm) {
    TierCounters& tier = all[vm].tiers[tier_];
    tier.prefetched = counts_[vm].prefetched;
    tier.prefetch_used = counts_[vm].used;
    tier.prefetch_wasted = counts_[vm].wasted;
    all[vm].backend_reads += counts_[vm].prefetched;
  }
  for (const BlockId block : unread_) {
    if ((state_[block] & kUnread) == 0) continue;
    const VmId vm = owners_.vm_of(block);
    TierCounters& tier = all[vm].tiers[tier_];
    ++(is_held(vm, block) ? tier.prefetch_unread : tier.prefetch_wasted);
  }
  return all;
}

}  // namespace mcsim
