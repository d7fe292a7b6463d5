#pragma once

#include "policies/eviction/lfu_da.hpp"

namespace mcsim {

// Greedy-Dual-Size with frequency: the key of an object is its count times its cost over its size,
// plus the age of the cache. Blocks have equal sizes and costs, for which it is LFU with dynamic
// ageing.
class Gdsf : public LfuDa {
 public:
  using LfuDa::LfuDa;
  static constexpr ComponentInfo kInfo{
      .name = "gdsf",
      .summary =
          "Evicts the lowest count × cost / size plus age; for blocks of one size it equals "
          "lfu-da.",
      .reference =
          "Cherkasova: Improving WWW proxies performance with Greedy-Dual-Size-Frequency "
          "caching policy, HP Laboratories HPL-98-69R1, 1998"};
};

}  // namespace mcsim
