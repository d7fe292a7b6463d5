#include "core/containers/alias_table.hpp"

#include <limits>
#include <numeric>

namespace mcsim {

AliasTable::AliasTable(std::span<const double> weights) {
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    columns_.push_back({std::numeric_limits<std::uint64_t>::max(), i});
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double columns = static_cast<double>(weights.size());

  std::vector<double> height(weights.size());
  std::vector<std::uint32_t> low;
  std::vector<std::uint32_t> high;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    height[i] = weights[i] / sum * columns;
    (height[i] < 1 ? low : high).push_back(i);
  }
  while (!low.empty() && !high.empty()) {
    const std::uint32_t small = low.back();
    const std::uint32_t large = high.back();
    low.pop_back();
    columns_[small] = {static_cast<std::uint64_t>(height[small] * 0x1.0p64), large};
    height[large] -= 1 - height[small];
    if (height[large] < 1) {
      high.pop_back();
      low.push_back(large);
    }
  }
}

}  // namespace mcsim
