#pragma once

#include <algorithm>
#include <list>
#include <vector>

#include "core/engine/hosts/host.hpp"
#include "tests/support/naive_tiers.hpp"

namespace mcsim::naive {

// VMs with parts of their own in naive::Tiers, and for each the list of blocks that have not
// followed it to its host yet, the next to come first.
class Fleet {
 public:
  struct Counts {
    Count sent = 0;
    Count transferred = 0;
    Count on_demand = 0;
    Count left_behind = 0;
    Count on_the_way = 0;
    std::vector<Count> transfers;  // by tier, as the next two
    std::vector<Count> remote_reads;
    std::vector<Count> remote_requests;
    friend bool operator==(const Counts&, const Counts&) = default;
    friend void PrintTo(const Counts& of, std::ostream* out) {
      *out << fmt::format("sent {} = {} + {} on demand + {} behind + {}; {} {} {}", of.sent,
                          of.transferred, of.on_demand, of.left_behind, of.on_the_way, of.transfers,
                          of.remote_reads, of.remote_requests);
    }
  };

  Fleet(Tiers tiers, std::size_t tier_count, std::size_t vms)
      : tiers_(std::move(tiers)), tier_count_(tier_count), vms_(vms) {
    const std::vector<Count> none(tier_count, 0);
    for (Vm& vm : vms_) vm.counts.transfers = vm.counts.remote_reads = none;
    for (Vm& vm : vms_) vm.counts.remote_requests = none;
  }

  Tiers& tiers() { return tiers_; }
  Counts counts(std::size_t vm) {
    forget_evicted();
    Counts counts = vms_[vm].counts;
    counts.on_the_way = static_cast<Count>(vms_[vm].to_come.size());
    return counts;
  }

  // False if old data was read.
  bool request(Nanoseconds now, std::size_t vm, std::span<const BlockId> blocks, bool writes,
               WriteMode mode) {
    receive(now);
    ask_for(vms_[vm], vm, blocks, writes);
    bool newest = true;
    for (const BlockId block : blocks) {
      if (writes) {
        tiers_.write(vm, block, mode);
      } else {
        newest = tiers_.read(vm, block) && newest;
      }
      vms_[vm].accessed.remove(block);
      vms_[vm].accessed.push_front(block);
      forget_evicted();
    }
    return newest;
  }

  void leave(Nanoseconds now, std::size_t vm, bool keep) {
    receive(now);
    release_on_the_way(vm);
    if (!keep) tiers_.release(vm);
  }

  void send(Nanoseconds now, std::size_t vm, Nanoseconds every, OnDemand rule) {
    Vm& of = vms_[vm];
    for (const BlockId block : of.accessed) {
      if (tiers_.find(vm, block) < tier_count_) of.to_come.push_back(block);
    }
    of.every = every;
    of.rule = rule;
    of.counts.sent += static_cast<Count>(of.to_come.size());
    if (of.to_come.empty()) return;
    if (queue_.empty()) link_free_ = now;
    queue_.push_back(vm);
  }

  void release(std::size_t vm) {
    release_on_the_way(vm);
    tiers_.release(vm);
  }

  void discard(std::size_t vm, BlockId block) {
    tiers_.discard(vm, block);
    forget_evicted();
  }

  void forget_evicted() {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      vms_[vm].counts.left_behind += static_cast<Count>(vms_[vm].to_come.remove_if(
          [&](BlockId block) { return tiers_.find(vm, block) == tier_count_; }));
    }
  }

 private:
  struct Vm {
    Counts counts;
    std::list<BlockId> accessed;  // the last first
    std::list<BlockId> to_come;
    Nanoseconds every = 0;
    OnDemand rule = OnDemand::kDirty;
  };

  void release_on_the_way(std::size_t vm) {
    forget_evicted();
    Vm& of = vms_[vm];
    of.counts.left_behind += static_cast<Count>(of.to_come.size());
    for (const BlockId block : of.to_come) tiers_.drop(vm, block);
    of.to_come.clear();
    if (!queue_.empty() && queue_.front() == vm) link_free_ = now_;
    queue_.remove(vm);
  }

  void come_over(std::size_t vm, BlockId block) {
    vms_[vm].to_come.remove(block);
    for (std::size_t k = 0; k < tier_count_; ++k) {
      vms_[vm].counts.transfers[k] += tiers_.holds(k, vm, block) ? 1 : 0;
    }
  }

  void receive(Nanoseconds now) {
    forget_evicted();
    now_ = now;
    while (!queue_.empty() && link_free_ + vms_[queue_.front()].every <= now) {
      Vm& of = vms_[queue_.front()];
      link_free_ += of.every;
      if (!of.to_come.empty()) {
        come_over(queue_.front(), of.to_come.front());
        ++of.counts.transferred;
      }
      if (of.to_come.empty()) queue_.pop_front();
    }
  }

  void ask_for(Vm& of, std::size_t vm, std::span<const BlockId> blocks, bool writes) {
    std::vector<std::size_t> found;
    std::vector<std::size_t> found_remote;
    for (const BlockId block : blocks) {
      const bool to_come = std::ranges::find(of.to_come, block) != of.to_come.end();
      const bool remote =
          to_come && !writes && (of.rule == OnDemand::kAll || tiers_.is_dirty(block));
      if (remote) {
        come_over(vm, block);
        ++of.counts.on_demand;
      } else if (to_come) {
        of.to_come.remove(block);
        ++of.counts.left_behind;
        if (!writes) tiers_.drop(vm, block);
      }
      found.push_back(tiers_.find(vm, block));
      if (!remote) continue;
      found_remote.push_back(found.back());
      ++of.counts.remote_reads[found.back()];
    }
    const std::size_t slowest = *std::ranges::max_element(found);
    if (std::ranges::count(found_remote, slowest) > 0) ++of.counts.remote_requests[slowest];
  }

  Tiers tiers_;
  std::size_t tier_count_;
  std::vector<Vm> vms_;
  std::list<std::size_t> queue_;  // VMs, in the order of their moves
  Nanoseconds link_free_ = 0;
  Nanoseconds now_ = 0;
};

}  // namespace mcsim::naive
