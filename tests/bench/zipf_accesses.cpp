#include "tests/bench/zipf_accesses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/base/random.hpp"
#include "core/trace/interning/accesses_sink.hpp"

namespace mcsim::bench {

Accesses zipf_trace(std::size_t accesses, std::size_t blocks, std::size_t vms, double writes) {
  Random random(1);
  std::vector<double> cumulative(blocks);
  double sum = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    cumulative[i] = sum += std::pow(static_cast<double>(i + 1), -0.9);
  }
  std::vector<BlockId> shuffled(blocks);
  std::iota(shuffled.begin(), shuffled.end(), BlockId(0));
  std::ranges::shuffle(shuffled, random);

  Accesses trace;
  const std::size_t each = blocks / vms;
  for (std::size_t v = 0; v < vms; ++v) {
    trace.vms.push_back({.name = std::to_string(v),
                         .first_id = static_cast<BlockId>(v * each),
                         .unique_blocks = static_cast<Count>(each)});
  }
  AccessesSink sink(std::move(trace), accesses, accesses);
  for (std::size_t i = 0; i < accesses; ++i) {
    const auto rank = std::ranges::lower_bound(cumulative, random.uniform() * sum);
    const BlockId id = shuffled[static_cast<std::size_t>(rank - cumulative.begin())];
    sink.push_block(id);
    sink.push_request(static_cast<Nanoseconds>(i), static_cast<VmId>(std::min(id / each, vms - 1)),
                      writes > 0 && random.uniform() < writes ? 1 : 0);
  }
  return std::move(sink).finish().value();
}

Machine machine_of(const std::vector<Count>& capacities) {
  Machine machine;
  for (const Count blocks : capacities) machine.tiers.push_back({{}, blocks});
  return machine;
}

}  // namespace mcsim::bench
