#include "core/engine/policy/tier_cache.hpp"

namespace mcsim {
namespace {

// The output of a cache: the arrivals at the cache below.
struct Below {
  Arrival* next;
  Arrival* first;
  const ArrivalUses* uses;

  void push(Arrival arrival) { *next++ = arrival; }
  void push_victim(BlockId block, std::size_t number, NextUse use) {
    if (uses != nullptr) uses->of_next[next - first] = use;
    push(Arrival(block, number, Arrival::kVictim));
  }
};

}  // namespace

Arrival* TierCache::serve(std::span<const Arrival> arrivals, Arrival* next,
                          const ArrivalUses* uses) {
  Below below{next, next, uses};
  std::vector<BlockId> victims;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const Arrival arrival = arrivals[i];
    Access<> a{.block = arrival.block(), .op = arrival.op()};
    if (arrival.kind() == Arrival::kWritten) {
      below.push(arrival);
      continue;
    }
    if (arrival.kind() == Arrival::kTake) {
      const bool held = take(a.block);
      if (!held) below.push(arrival);
      if (held && arrival.dirties()) below.push(arrival.written());
      continue;
    }
    if (uses != nullptr) a.next_use = uses->of_blocks[a.block] = uses->of_arrivals[i];
    if (arrival.kind() == Arrival::kAccess) {
      if (touch(a)) {
        if (arrival.dirties()) below.push(arrival.written());
        continue;
      }
      below.push(arrival.taken());
    }
    victims.clear();
    insert(a, victims);
    for (const BlockId victim : victims) {
      below.push_victim(victim, arrival.number(),
                        uses == nullptr ? kNever : uses->of_blocks[victim]);
    }
  }
  return below.next;
}

}  // namespace mcsim
