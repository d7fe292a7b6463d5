#pragma once

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/containers/bit_array.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

// A policy that refuses blocks and works in the background, and its twin.
namespace mcsim::testing {

// FIFO that refuses a block when it is first offered. Every second refusal evicts the oldest block.
// Each tick cleans the newest and the oldest block and evicts the oldest one, unless it is the only
// one.
class BackgroundFifo : public SlotPolicyBase<SlotLists<1>> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "background-fifo", .summary = "For tests.", .reference = "none"};
  static constexpr Nanoseconds kPeriod = 10;

  BackgroundFifo(const Params&, const PolicySetup& setup)
      : SlotPolicyBase(setup), offered_(setup.first_block + setup.blocks) {}

  bool admits(const auto& a, auto& cache) {
    if (offered_[a.block]) return true;
    offered_.set(a.block);
    if (++refusals_ % 2 == 0 && size() > 0) cache.evict(blocks_.pop_back());
    return false;
  }
  bool access(const auto& a, auto& cache) {
    if (cache.find(a.block) != kNoSlot) return true;
    if (size() == capacity_) cache.evict(blocks_.pop_back());
    blocks_.push_front(cache.insert(a.block));
    return false;
  }
  Ticks ticks() const { return {.period = kPeriod, .budget = 3}; }
  void tick(Nanoseconds, auto& cache) {
    if (size() == 0) return;
    cache.clean(blocks_.front());
    if (size() == 1) return;
    cache.clean(blocks_.back());
    cache.evict(blocks_.pop_back());
  }
  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict(blocks_.pop_back());
    blocks_.reserve(cache.slots_for(capacity_));
  }
  auto state() { return std::tie(blocks_, offered_, refusals_); }

 private:
  BitArray offered_;
  int refusals_ = 0;
};

// Its twin: blocks in a queue, the oldest first.
struct NaiveBackgroundFifo {
  std::size_t capacity;
  std::deque<BlockId> held = {};
  std::set<BlockId> offered = {};
  int refusals = 0;
  std::vector<BlockId> victims = {};  // since they were last cleared
  std::vector<BlockId> cleaned = {};

  bool holds(BlockId block) const { return std::ranges::find(held, block) != held.end(); }
  void evict() {
    victims.push_back(held.front());
    held.pop_front();
  }
  bool admits(BlockId block) {
    if (!offered.insert(block).second) return true;
    if (++refusals % 2 == 0 && !held.empty()) evict();
    return false;
  }
  void insert(BlockId block) {
    if (held.size() == capacity) evict();
    held.push_back(block);
  }
  void tick() {
    if (held.empty()) return;
    cleaned.push_back(held.back());
    if (held.size() == 1) return;
    cleaned.push_back(held.front());
    evict();
  }
};

}  // namespace mcsim::testing
