#include "policies/replay/speed_estimate.hpp"

#include <cmath>

#include "core/base/cpu_clock.hpp"
#include "core/base/random.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {

SpeedEstimate::SpeedEstimate() : blocks_(kLength) {
  Random random(1);
  for (BlockId& block : blocks_) {
    block = BlockId(static_cast<std::uint32_t>(kUnique * std::pow(random.uniform(), 3)));
  }
  next_uses_ = next_uses({blocks_.data(), kLength}, kUnique).value();
}

double SpeedEstimate::of(const std::string& policy, const ParamMap& params) {
  const auto [entry, is_new] = seconds_.try_emplace({policy, params});
  if (is_new) entry->second = measure(policy, params);
  return entry->second;
}

double SpeedEstimate::measure(const std::string& policy, const ParamMap& params) const {
  const std::span<const BlockId> blocks(blocks_.data(), kLength);
  const auto cache = eviction_registry().make(
      policy, params, {.capacity = kCapacity, .blocks = kUnique, .trace = blocks});
  if (!cache.ok()) return 0;
  const double start = cpu_seconds();
  const absl::Status replayed =
      (*cache)->replay({.blocks = blocks, .next_uses = {next_uses_.data(), kLength}});
  return replayed.ok() ? (cpu_seconds() - start) / kLength : 0;
}

}  // namespace mcsim
