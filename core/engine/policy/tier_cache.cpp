#include "core/engine/policy/tier_cache.hpp"

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

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

// The policy and its parameters: `slru(protected_share=0.8)`.
std::string policy_text(const char* policy, const ParamMap& params) {
  std::vector<std::string> texts;
  for (const auto& param : params) {
    const std::string& name = param.first;
    texts.push_back(std::visit(
        [&](const auto& of) -> std::string {
          if constexpr (std::is_same_v<std::decay_t<decltype(of)>, PerVm>) {
            std::vector<std::string> numbers;
            for (const auto& [vm, number] : of)
              numbers.push_back(fmt::format("{}: {}", vm, number));
            return fmt::format("{}={{{}}}", name, fmt::join(numbers, ", "));
          } else {
            return fmt::format("{}={}", name, of);
          }
        },
        param.second));
  }
  if (texts.empty()) return policy;
  return fmt::format("{}({})", policy, fmt::join(texts, ", "));
}

}  // namespace

absl::Status TierCache::save(ArchiveWriter&) {
  return invalid_argument("this policy does not declare a state, so it cannot be saved");
}

absl::Status TierCache::load(ArchiveReader&) {
  return invalid_argument("this policy does not declare a state, so none can be loaded");
}

void TierCache::save_setup(ArchiveWriter& to, const char* policy, const ParamMap& params) const {
  to(policy_text(policy, params), capacity());
}

absl::Status TierCache::load_setup(ArchiveReader& from, const char* policy,
                                   const ParamMap& params) const {
  std::string text;
  Count blocks = 0;
  from(text, blocks);
  MCSIM_RETURN_IF_ERROR(from.status());
  const std::string own = policy_text(policy, params);
  if (text != own) return invalid_argument("the state is one of {}, not of {}", text, own);
  if (blocks == capacity()) return absl::OkStatus();
  return invalid_argument("the state is one of {} blocks, not of {}", blocks, capacity());
}

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
