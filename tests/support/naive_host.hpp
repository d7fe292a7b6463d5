#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <vector>

#include "core/engine/allocation.hpp"
#include "core/engine/exclusive_lru.hpp"

namespace mcsim::naive {

// The published data path word for word, with one std::list per VM and tier (most
// recent first): slow, and obviously right. A shared host is one VM.
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
    for (; tier < capacity_.size(); ++tier) {
      std::list<BlockId>& list = lists_[vm][tier];
      const auto found = std::find(list.begin(), list.end(), id);
      if (found == list.end()) continue;
      list.erase(found);
      break;
    }
    lists_[vm][0].push_front(id);
    if (tier > 0) settle(vm, 0);
    return tier;
  }

  void resize(const Allocation& targets) {
    targets_ = targets;
    if (rules_.mode != ResizeMode::kEager) return;
    for (std::size_t tier = 0; tier < capacity_.size(); ++tier) {
      for (std::size_t vm = 0; vm < lists_.size(); ++vm) {
        while (size(vm, tier) > targets_.at(tier, vm)) demote(vm, tier);
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
  // `vm` inserted a block into the tier.
  void settle(std::size_t vm, std::size_t tier) {
    const auto push_down = [&](std::size_t from) {
      demote(from, tier);
      if (tier + 1 < capacity_.size()) settle(from, tier + 1);
    };
    if (rules_.mode != ResizeMode::kLazy) {
      while (size(vm, tier) > targets_.at(tier, vm)) push_down(vm);
    }
    while (occupancy(tier) > capacity_[tier]) push_down(victim(tier));
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

  void demote(std::size_t vm, std::size_t tier) {
    const BlockId id = lists_[vm][tier].back();
    lists_[vm][tier].pop_back();
    if (tier + 1 < capacity_.size()) lists_[vm][tier + 1].push_front(id);
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
