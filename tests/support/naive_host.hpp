#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <vector>

#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim::naive {

// The published data path, with one std::list per VM and tier (most recent first): slow, and
// obviously right. A tier in which a block would not stay is bypassed. A shared host is one VM.
class ExclusiveLru {
 public:
  ExclusiveLru(std::vector<Count> capacity, Allocation targets, DivisionRules rules)
      : capacity_(std::move(capacity)),
        targets_(std::move(targets)),
        rules_(rules),
        lists_(targets_.vms(), std::vector<std::list<BlockId>>(capacity_.size())) {}

  // The tier that was hit, capacity_.size() for a miss.
  std::size_t access(std::size_t vm, BlockId id) {
    std::size_t tier = 0;
    while (tier < capacity_.size() && std::ranges::count(lists_[vm][tier], id) == 0) ++tier;
    std::size_t to = 0;
    while (to < tier && !has_room(vm, to)) ++to;
    if (to == capacity_.size()) return tier;
    if (tier < capacity_.size()) lists_[vm][tier].remove(id);
    lists_[vm][to].push_front(id);
    if (to < tier) settle(vm, to);
    return tier;
  }

  void resize(const Allocation& targets) {
    targets_ = targets;
    if (rules_.mode != ResizeMode::kEager) return;
    for (std::size_t tier = capacity_.size(); tier-- > 0;) {
      for (std::size_t vm = 0; vm < lists_.size(); ++vm) {
        while (size(vm, tier) > targets_.at(tier, vm)) push_down(vm, tier);
      }
    }
  }

  void release(std::size_t vm, BlockId first, BlockId end) {
    for (std::list<BlockId>& list : lists_[vm]) {
      list.remove_if([&](BlockId id) { return first <= id && id < end; });
    }
  }

  Count size(std::size_t vm, std::size_t tier) const {
    return static_cast<Count>(lists_[vm][tier].size());
  }

 private:
  // Whether a block of the VM may come into the tier and stay.
  bool has_room(std::size_t vm, std::size_t tier) {
    if (capacity_[tier] == 0) return false;
    if (rules_.mode != ResizeMode::kLazy) return targets_.at(tier, vm) > 0;
    if (size(vm, tier) > 0 || occupancy(tier) < capacity_[tier]) return true;
    lists_[vm][tier].push_front(kNoBlock);
    const bool another = victim(tier) != vm;
    lists_[vm][tier].pop_front();
    return another;
  }

  // `vm` inserted a block into the tier.
  void settle(std::size_t vm, std::size_t tier) {
    if (rules_.mode != ResizeMode::kLazy) {
      while (size(vm, tier) > targets_.at(tier, vm)) push_down(vm, tier);
    }
    while (occupancy(tier) > capacity_[tier]) push_down(victim(tier), tier);
  }

  Count occupancy(std::size_t tier) const {
    Count sum = 0;
    for (std::size_t vm = 0; vm < lists_.size(); ++vm) sum += size(vm, tier);
    return sum;
  }

  std::size_t victim(std::size_t tier) const {
    std::map<Count, std::size_t, std::greater<>> by_excess;
    for (std::size_t vm = lists_.size(); vm-- > 0;) {
      const Count over = size(vm, tier) - targets_.at(tier, vm);
      if (rules_.victim == VictimRule::kFirstOver && over > 0) by_excess.clear();
      by_excess[over] = vm;
    }
    return by_excess.begin()->second;
  }

  // The least recently used block goes to the next tier that has room for it, or out.
  void push_down(std::size_t vm, std::size_t tier) {
    const BlockId id = lists_[vm][tier].back();
    lists_[vm][tier].pop_back();
    std::size_t to = tier + 1;
    while (to < capacity_.size() && !has_room(vm, to)) ++to;
    if (to == capacity_.size()) return;
    lists_[vm][to].push_front(id);
    settle(vm, to);
  }

  std::vector<Count> capacity_;
  Allocation targets_;
  DivisionRules rules_;
  std::vector<std::vector<std::list<BlockId>>> lists_;
};

// Hits of LRU(capacity) access by access.
inline std::vector<bool> lru_hits(const std::vector<BlockId>& ids, std::size_t capacity) {
  std::list<BlockId> stack;
  std::vector<bool> hits;
  for (const BlockId id : ids) {
    const auto found = std::find(stack.begin(), stack.end(), id);
    hits.push_back(found != stack.end());
    if (found != stack.end()) stack.erase(found);
    stack.push_front(id);
    if (stack.size() > capacity) stack.pop_back();
  }
  return hits;
}

}  // namespace mcsim::naive
