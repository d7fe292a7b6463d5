// The counters of ExclusiveLru and their checks; included by exclusive_lru.inl.

namespace mcsim {

template <int kTiers>
std::vector<VmCounters> ExclusiveLru<kTiers>::counters() const {
  std::vector<VmCounters> all(vms_.size());
  for (const Vm& vm : vms_) count(vm, all[vm.index]);
  return all;
}

template <int kTiers>
void ExclusiveLru<kTiers>::count(const Vm& vm, VmCounters& of) const {
  const auto& [reads, through, back, around] = vm.tallies;
  of.requests = vm.counts.requests;
  of.request_hits = vm.counts.request_hits;
  of.bytes = vm.counts.bytes;
  of.byte_hits = vm.counts.byte_hits;
  of.tiers.resize(kTiers);
  for (std::size_t k = 0; k <= kTiers; ++k) {
    const Count written = through.found[k] + back.found[k];
    const Count entered = reads.found[k] + written;
    of.accesses += entered + around.found[k];
    of.writes += written + around.found[k];
    of.reads_served.blocks[k] = reads.found[k];
    of.reads_served.requests[k] = reads.requests[k];
    of.writes_served.blocks[kTiers] += through.found[k] + around.found[k];
    of.writes_served.requests[k] += back.requests[k];
    of.writes_served.requests[kTiers] += through.requests[k] + around.requests[k];
    of.backend_writes += through.found[k] + around.found[k];
    if (k == kTiers) {
      of.misses = entered + around.found[k];
      of.write_misses = written + around.found[k];
      of.tiers[0].fills += entered - vm.bypassed;
      break;
    }
    of.writes_served.blocks[k] += vm.written_to[k];
    of.tiers[k].hits = entered;
    of.tiers[k].write_hits = written;
    count_moves(vm, k, of);
  }
  of.backend_reads = reads.found[kTiers];
  dirty_.add_counts(vm.index, of);
}

// Call after counting the hits of the tier. Movements not counted in BelowTop are into the
// fastest tier.
template <int kTiers>
void ExclusiveLru<kTiers>::count_moves(const Vm& vm, std::size_t k, VmCounters& of) const {
  const BelowTop& below_top = vm.below_top;
  TierCounters& tier = of.tiers[k];
  const Count in_place = below_top.in_place[0][k] + below_top.in_place[1][k];
  tier.fills += below_top.fills[k];
  tier.promotions += below_top.promotions[k];
  tier.updates = k == 0 ? tier.write_hits : below_top.in_place[1][k];
  tier.moved_up = k == 0 ? 0 : tier.hits - in_place;
  of.tiers[0].fills -= below_top.fills[k];
  of.tiers[0].promotions += tier.moved_up - below_top.promotions[k];
  tier.demotions = vm.demotions[k];
  tier.moved_down = vm.moved_down[k];
  tier.evictions = vm.evictions[k];
  tier.invalidations = vm.invalidations[k];
  tier.copied_out = vm.moved_down[k] + vm.copied_out[k];
  tier.occupancy = vm.held[k];
  tier.target = sharing_ == Sharing::kShared ? capacity_[k] : vm.target[k];
}

template <int kTiers>
absl::Status ExclusiveLru<kTiers>::check_occupancy(
    std::span<const std::array<Count, kTiers>> found) const {
  for (std::size_t k = 0; k < kTiers; ++k) {
    Count sum = 0;
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      sum += vms_[vm].held[k];
      if (found[vm][k] == vms_[vm].held[k]) continue;
      return internal_error("exclusive LRU: VM {} has {} blocks in tier {}, counted {}", vm,
                            found[vm][k], k, vms_[vm].held[k]);
    }
    const Count counted = sharing_ == Sharing::kApart ? sum : total_[k];
    if (sum == counted && sum <= capacity_[k]) continue;
    return internal_error("exclusive LRU: tier {} holds {} blocks of {}, counted {}", k, sum,
                          capacity_[k], counted);
  }
  return absl::OkStatus();
}

template <int kTiers>
absl::Status ExclusiveLru<kTiers>::check_invariants() const {
  std::vector<std::array<Count, kTiers>> found(vms_.size());
  Count dirty = 0;
  const auto count = [&](std::size_t tier, BlockId id) {
    ++found[owners_.vm_of(id)][tier];
    dirty += dirty_.contains(id) ? 1 : 0;
  };
  for (std::size_t s = 0; s < stack_count(); ++s) {
    if (!log_.consistent(stack(s))) {
      return internal_error("exclusive LRU: the log of stack {} is torn", s);
    }
    log_.for_each(stack(s), count);
  }
  if (dirty != dirty_.count()) {
    return internal_error("exclusive LRU: {} dirty blocks are held, counted {}", dirty,
                          dirty_.count());
  }
  return check_occupancy(found);
}

}  // namespace mcsim
