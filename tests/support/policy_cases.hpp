#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/eviction/all.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/policy_traces.hpp"

// Traces, parameters and caches of the conformance tests of all eviction policies.
namespace mcsim::testing {

// Return parameters under which a policy takes another path through its code.
std::vector<ParamMap> variants(std::string_view policy);

// Return whether victims depend on the names of blocks, and on the number of names.
bool goes_by_name(std::string_view policy, const ParamMap& params);

const std::vector<PolicyTrace>& traces();
std::vector<Count> capacities(const PolicyTrace& trace);

// Call test(trace, params, capacity) for all traces, variants of the policy and capacities.
template <class Test>
void for_each_case(std::string_view policy, Test&& test) {
  for (const PolicyTrace& trace : traces()) {
    for (const ParamMap& params : variants(policy)) {
      for (const Count capacity : capacities(trace)) {
        SCOPED_TRACE(::testing::Message()
                     << trace.name << ", " << capacity << " blocks, variant " << params.size());
        test(trace, params, capacity);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// A policy that serves one access at a time on a simulated cache.
class Subject {
 public:
  Subject(std::string_view policy, const PolicyTrace& trace, const ParamMap& params, Count capacity)
      : trace_(trace),
        cache_(eviction_registry()
                   .make(policy, params,
                         {.capacity = capacity, .blocks = trace.unique, .trace = trace.blocks})
                   .value()) {}

  bool access(std::size_t i) {
    victims.clear();
    const Access<> a{.block = trace_.blocks[i], .next_use = trace_.next_uses[i]};
    inserted = false;
    if (cache_->touch(a)) return true;
    if (cache_->capacity() == 0) return false;
    inserted = !cache_->selective() || cache_->admits(a, victims);
    if (inserted) cache_->insert(a, victims);
    return false;
  }
  void resize(Count capacity) {
    victims.clear();
    cache_->resize(capacity, victims);
  }
  std::vector<BlockId> resident() const {
    std::vector<BlockId> blocks;
    for (BlockId block = 0; block < trace_.unique; ++block) {
      if (cache_->contains(block)) blocks.push_back(block);
    }
    return blocks;
  }
  TierCache& cache() { return *cache_; }

  std::vector<BlockId> victims;  // of the last call, in order
  bool inserted = false;         // whether the last access inserted its block

 private:
  const PolicyTrace& trace_;
  std::unique_ptr<TierCache> cache_;
};

template <class... Ps>
::testing::Types<Ps...> types_of(TypeList<Ps...>);

struct PolicyNames {
  template <class P>
  static std::string GetName(int) {
    std::string name = P::kInfo.name;
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

using AllPolicies = decltype(types_of(AllEvictionPolicies{}));

}  // namespace mcsim::testing
