#pragma once

#include "policies/eviction/lfu_da.hpp"

namespace mcsim {

// Greedy-Dual-Size with frequency: the key of an object is its count times its cost
// over its size, plus the age of the cache. Blocks are of one size and cost, for
// which it is LFU with dynamic ageing.
class Gdsf : public LfuDa {
 public:
  using LfuDa::LfuDa;
  static constexpr ComponentInfo kInfo{
      .name = "gdsf",
      .summary = "Count times cost over size, aged; for blocks of one size, lfu-da.",
      .reference =
          "Cherkasova: Improving WWW proxies performance with Greedy-Dual-Size-Frequency "
          "caching policy, HP Laboratories HPL-98-69R1, 1998"};
};

}  // namespace mcsim
