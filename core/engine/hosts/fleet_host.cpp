#include "core/engine/hosts/fleet_host.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/engine/tiers/block_values.hpp"

namespace mcsim {
namespace {

std::vector<Count> capacities_of(const Machine& machine) {
  std::vector<Count> capacities;
  for (const TierSpec& tier : machine.tiers) capacities.push_back(tier.capacity_blocks);
  return capacities;
}

}  // namespace

FleetHost::FleetHost(std::unique_ptr<TieredHost> tiers, const Machine& machine,
                     const Accesses& trace, HostOfVm host_of)
    : tiers_(std::move(tiers)),
      hosts_(machine.fleet.hosts),
      link_(machine.fleet.link),
      capacities_(capacities_of(machine)),
      host_of_(std::move(host_of)),
      owners_(trace),
      begin_(trace.request_time.empty() ? 0 : trace.request_time[0]),
      on_the_way_(trace.id_count(), false),
      accessed_(trace.id_count()),
      sent_(trace.vms.size()),
      tier_counts_(trace.vms.size(), std::vector<TierCounters>(capacities_.size())) {
  for (const VmInfo& vm : trace.vms) vms_.push_back(vm.name);
}

absl::StatusOr<std::unique_ptr<Host>> FleetHost::make(std::unique_ptr<TieredHost> tiers,
                                                      const Machine& machine, const Accesses& trace,
                                                      HostOfVm host_of) {
  std::unique_ptr<FleetHost> host(
      new FleetHost(std::move(tiers), machine, trace, std::move(host_of)));
  Allocation targets(machine.tiers.size(), trace.vms.size());  // in force
  const std::vector<VmCounters> counters = host->tiers_->counters();
  for (std::size_t vm = 0; vm < counters.size(); ++vm) {
    for (std::size_t k = 0; k < targets.tiers(); ++k) {
      targets.at(k, vm) = counters[vm].tiers[k].target;
    }
  }
  MCSIM_RETURN_IF_ERROR(host->check_hosts(targets, *host->host_of_));
  return host;
}

std::uint64_t FleetHost::since_begin(Nanoseconds time) const {
  // Trace times may begin before zero.
  return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(begin_);
}

void FleetHost::replay(const Accesses& trace, RequestRange range) {
  while (range.begin < range.end) {
    receive(since_begin(trace.request_time[range.begin]));
    fetch_from_old_host(trace, range.begin);
    const std::size_t end = end_without_transfer(trace, range);
    tiers_->replay(trace, {range.begin, end});
    for (auto i = trace.request_begin[range.begin]; i < trace.request_begin[end]; ++i) {
      accessed_[trace.ids[i]] = ++accesses_;
    }
    range.begin = end;
  }
}

// The end of the requests up to the next that accesses a block on the way, or up to the next
// transfer.
std::size_t FleetHost::end_without_transfer(const Accesses& trace, RequestRange range) const {
  if (queue_.empty()) return range.end;
  std::size_t end = range.begin + 1;
  while (end < range.end && since_begin(trace.request_time[end]) < next_slot() &&
         !has_block_on_the_way(trace, end)) {
    ++end;
  }
  return end;
}

bool FleetHost::has_block_on_the_way(const Accesses& trace, std::size_t request) const {
  return sent_[trace.request_vm[request]].under_way() &&
         std::ranges::any_of(trace.blocks_of(request),
                             [&](BlockId block) { return is_on_the_way(block); });
}

void FleetHost::fetch_from_old_host(const Accesses& trace, std::size_t request) {
  if (!has_block_on_the_way(trace, request)) return;
  const VmId vm = trace.request_vm[request];
  const Op op = static_cast<Op>(trace.request_op[request]);
  std::size_t slowest = 0;
  bool over_link = false;  // whether one of the slowest came over the link
  for (const BlockId block : trace.blocks_of(request)) {
    const bool remote = fetch(vm, block, op);
    const std::size_t tier = tiers_->fastest_with(vm, block);
    if (remote) ++tier_counts_[vm][tier].remote_reads;
    const bool from_memory = op == Op::kRead && tier == capacities_.size() && tiers_->staged(block);
    if (from_memory) continue;
    over_link = (over_link && tier <= slowest) || (remote && tier >= slowest);
    slowest = std::max(slowest, tier);
  }
  if (over_link) ++tier_counts_[vm][slowest].remote_requests;
}

// Serve an access to one block; return whether the block comes over for it.
bool FleetHost::fetch(VmId vm, BlockId block, Op op) {
  if (!is_on_the_way(block) || was_evicted(vm, block)) return false;
  if (op == Op::kRead && (sent_[vm].rule == OnDemand::kAll || tiers_->dirty(block))) {
    come_over(vm, block, true);
    ++sent_[vm].on_demand;
    return true;
  }
  leave_behind(vm, block);
  if (op == Op::kRead) tiers_->drop(vm, block);
  return false;
}

// Process the background transfers until `now`. A VM without further blocks releases the link at
// the end of a slot.
void FleetHost::receive(std::uint64_t now) {
  now_ = now;
  while (!queue_.empty() && next_slot() <= now) {
    link_free_ = next_slot();
    Transfer& first = queue_.front();
    if (has_more(first)) {
      come_over(first.vm, first.to_come.back(), false);
      ++sent_[first.vm].transferred;
    }
    if (!has_more(first)) queue_.pop_front();
  }
}

// Return whether there is a block still to come, which is then the last one of `to_come`.
bool FleetHost::has_more(Transfer& transfer) {
  std::vector<BlockId>& blocks = transfer.to_come;
  while (!blocks.empty() &&
         (!is_on_the_way(blocks.back()) || was_evicted(transfer.vm, blocks.back()))) {
    blocks.pop_back();
  }
  return !blocks.empty();
}

bool FleetHost::was_evicted(VmId vm, BlockId block) {
  if (still_held(vm, block)) return false;
  leave_behind(vm, block);
  return true;
}

// Transfer all copies of the block, each read from its device on the old host. A request that
// accesses the block reads the fastest copy, which counts as served.
void FleetHost::come_over(VmId vm, BlockId block, bool on_demand) {
  on_the_way_[block] = false;
  bool served = on_demand;
  for (std::size_t k = 0; k < capacities_.size(); ++k) {
    if (!tiers_->holds(k, vm, block)) continue;
    ++tier_counts_[vm][k].transfers;
    if (!std::exchange(served, false)) ++tier_counts_[vm][k].copied_out;
  }
}

void FleetHost::leave_behind(VmId vm, BlockId block) {
  on_the_way_[block] = false;
  ++sent_[vm].left_behind;
}

absl::Status FleetHost::resize(const Allocation& targets) {
  MCSIM_RETURN_IF_ERROR(check_hosts(targets, *host_of_));
  return tiers_->resize(targets);
}

absl::Status FleetHost::migrate(std::span<const Migration> migrations, const Allocation& targets,
                                Nanoseconds now) {
  HostIndices host_of = *host_of_;
  MCSIM_RETURN_IF_ERROR(check_moves(migrations, host_of));
  MCSIM_RETURN_IF_ERROR(check_hosts(targets, host_of));
  receive(static_cast<std::uint64_t>(now));
  for (const Migration& migration : migrations) {
    stop(migration.vm);
    if (!migration.keep) tiers_->release(migration.vm);
  }
  // Blocks for which the new host has no space are not sent.
  MCSIM_RETURN_IF_ERROR(tiers_->resize(targets));
  // Data staged by the old host is not sent either.
  for (const Migration& migration : migrations) {
    for (BlockId id = owners_.first_of(migration.vm); id < owners_.end_of(migration.vm); ++id) {
      tiers_->drop_staged(id);
    }
  }
  *host_of_ = std::move(host_of);
  for (const Migration& migration : migrations) {
    if (migration.keep) send(migration);
  }
  return absl::OkStatus();
}

void FleetHost::send(const Migration& migration) {
  const VmId vm = migration.vm;
  std::vector<BlockId> blocks;
  for (BlockId block = owners_.first_of(vm); block < owners_.end_of(vm); ++block) {
    if (!still_held(vm, block)) continue;
    blocks.push_back(block);
    on_the_way_[block] = true;
  }
  std::ranges::sort(blocks, {}, [&](BlockId block) { return accessed_[block]; });
  sent_[vm].sent += static_cast<Count>(blocks.size());
  sent_[vm].rule = migration.on_demand;
  if (blocks.empty()) return;
  const double rate =
      migration.blocks_per_second > 0 ? migration.blocks_per_second : link_.blocks_per_second;
  const double every = std::min(std::round(static_cast<double>(kSecond) / rate), 0x1p62);
  if (queue_.empty()) link_free_ = now_;
  queue_.push_back({.vm = vm,
                    .every = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(every)),
                    .to_come = std::move(blocks)});
}

// Leave all blocks behind that are still on the way to the VM.
void FleetHost::stop(VmId vm) {
  for (Transfer& transfer : queue_) {
    if (transfer.vm != vm) continue;
    for (const BlockId block : transfer.to_come) {
      if (!is_on_the_way(block) || was_evicted(vm, block)) continue;
      leave_behind(vm, block);
      tiers_->drop(vm, block);
    }
  }
  if (!queue_.empty() && queue_.front().vm == vm) link_free_ = now_;
  std::erase_if(queue_, [&](const Transfer& transfer) { return transfer.vm == vm; });
}

void FleetHost::release(VmId vm) {
  stop(vm);
  tiers_->release(vm);
}

// Discarded blocks on the way stay behind.
void FleetHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    const VmId vm = owners_.vm_of(block);
    if (is_on_the_way(block) && !was_evicted(vm, block)) leave_behind(vm, block);
  }
  tiers_->discard(blocks);
}

absl::Status FleetHost::check_moves(std::span<const Migration> migrations,
                                    HostIndices& host_of) const {
  for (const Migration& migration : migrations) {
    if (migration.vm >= vms_.size() || migration.host >= hosts_.size()) {
      return out_of_range("migrations: VM {} of {} to host {} of {}", migration.vm, vms_.size(),
                          migration.host, hosts_.size());
    }
    const std::string& vm = vms_[migration.vm];
    if (host_of[migration.vm] == migration.host) {
      return invalid_argument("migrations: {} is on host {} already", vm, hosts_[migration.host]);
    }
    if (!(migration.blocks_per_second >= 0 &&
          migration.blocks_per_second <= link_.blocks_per_second)) {
      return out_of_range("migrations: {}: {} blocks per second exceed the {} of the link", vm,
                          migration.blocks_per_second, link_.blocks_per_second);
    }
    host_of[migration.vm] = migration.host;
  }
  return absl::OkStatus();
}

absl::Status FleetHost::check_hosts(const Allocation& targets, const HostIndices& host_of) const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    Allocation here = targets;
    for (std::size_t vm = 0; vm < std::min(here.vms(), host_of.size()); ++vm) {
      for (std::size_t k = 0; k < here.tiers() && host_of[vm] != host; ++k) here.at(k, vm) = 0;
    }
    const absl::Status granted = check_targets(here, capacities_, vms_.size());
    if (!granted.ok()) return invalid_argument("host {}: {}", hosts_[host], message_of(granted));
  }
  return absl::OkStatus();
}

// Blocks on the way that were evicted count as left behind, although they are detected only on
// access.
std::vector<VmCounters> FleetHost::counters() const {
  std::vector<VmCounters> all = tiers_->counters();
  for (const Transfer& transfer : queue_) {
    for (const BlockId block : transfer.to_come) {
      if (!is_on_the_way(block)) continue;
      ++(still_held(transfer.vm, block) ? all[transfer.vm].on_the_way
                                        : all[transfer.vm].left_behind);
    }
  }
  for (std::size_t vm = 0; vm < all.size(); ++vm) {
    all[vm].sent = sent_[vm].sent;
    all[vm].transferred = sent_[vm].transferred;
    all[vm].on_demand = sent_[vm].on_demand;
    all[vm].left_behind += sent_[vm].left_behind;
    all[vm].host = static_cast<Count>((*host_of_)[vm]);
    for (std::size_t k = 0; k < capacities_.size(); ++k) {
      all[vm].tiers[k].transfers = tier_counts_[vm][k].transfers;
      all[vm].tiers[k].copied_out += tier_counts_[vm][k].copied_out;
      all[vm].tiers[k].remote_reads = tier_counts_[vm][k].remote_reads;
      all[vm].tiers[k].remote_requests = tier_counts_[vm][k].remote_requests;
    }
  }
  return all;
}

// Which host each VM is on is part of the state: it decides which filter is called.
absl::Status FleetHost::save(ArchiveWriter& to) {
  MCSIM_RETURN_IF_ERROR(tiers_->save(to));
  std::vector<Transfer> queue(queue_.begin(), queue_.end());
  to(*host_of_, begin_, BlockValues(on_the_way_), BlockValues(accessed_), accesses_, queue, now_,
     link_free_, sent_, tier_counts_);
  return absl::OkStatus();
}

absl::Status FleetHost::load(ArchiveReader& from) {
  MCSIM_RETURN_IF_ERROR(tiers_->load(from));
  std::vector<Transfer> queue;
  from(*host_of_, begin_, BlockValues(on_the_way_), BlockValues(accessed_), accesses_, queue, now_,
       link_free_, sent_, tier_counts_);
  MCSIM_RETURN_IF_ERROR(from.status());
  const bool known =
      std::ranges::all_of(*host_of_, [&](std::size_t host) { return host < hosts_.size(); }) &&
      std::ranges::all_of(queue, [&](const Transfer& of) { return of.vm < sent_.size(); });
  if (!known) return data_loss("a host or a VM is unknown");
  queue_.assign(queue.begin(), queue.end());
  return check_invariants();
}

// Checks the tiers, and that each block on the way is in one transfer, that of its VM.
absl::Status FleetHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(tiers_->check_invariants());
  std::vector<bool> to_come(on_the_way_.size(), false);
  for (const Transfer& transfer : queue_) {
    for (const BlockId block : transfer.to_come) {
      if (!is_on_the_way(block)) continue;
      if (to_come[block] || owners_.vm_of(block) != transfer.vm) {
        return internal_error("block {} is to come twice, or to another VM", block);
      }
      to_come[block] = true;
    }
  }
  if (to_come == on_the_way_) return absl::OkStatus();
  return internal_error("what is on the way is not what is to come");
}

}  // namespace mcsim
