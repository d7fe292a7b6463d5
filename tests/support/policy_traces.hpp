#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/policy/next_use.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/streams.hpp"

namespace mcsim::testing {

// A trace as policies get it: dense ids, and the next use of each.
struct PolicyTrace {
  std::string name;
  std::vector<BlockId> blocks;
  std::size_t unique = 0;
  std::vector<NextUse> next_uses;
};

inline PolicyTrace policy_trace(std::string name, std::span<const std::uint64_t> keys) {
  PolicyTrace trace{.name = std::move(name), .blocks = {}, .next_uses = {}};
  std::unordered_map<std::uint64_t, BlockId> ids;
  for (const std::uint64_t key : keys) {
    trace.blocks.push_back(ids.emplace(key, static_cast<BlockId>(ids.size())).first->second);
  }
  trace.unique = ids.size();
  const auto uses = next_uses(trace.blocks, trace.unique).value();
  trace.next_uses.assign(uses.begin(), uses.end());
  return trace;
}

// Short ones of every kind: what breaks recency, frequency and adaptation.
inline std::vector<PolicyTrace> policy_traces(std::size_t length) {
  std::vector<PolicyTrace> traces;
  for (const auto& [name, keys] : naive::awkward_streams()) {
    if (!keys.empty()) traces.push_back(policy_trace(name, keys));
  }
  traces.push_back(policy_trace("zipf", streams::zipf(length, 400, 0.9, 1)));
  traces.push_back(policy_trace("uniform", streams::uniform(length, 80, 2)));
  traces.push_back(policy_trace("mix", streams::mix(length, 60, 3)));
  // Two working sets in turn, for policies that adapt.
  streams::Keys keys = streams::zipf(length / 2, 100, 1.2, 4);
  for (std::size_t i = 0; keys.size() < length; ++i) keys.push_back(i % 50);
  const auto again = streams::zipf(length / 2, 100, 1.2, 4);
  keys.insert(keys.end(), again.begin(), again.end());
  traces.push_back(policy_trace("zipf, loop, zipf", keys));
  return traces;
}

}  // namespace mcsim::testing
