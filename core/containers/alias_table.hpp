#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {

// Draws an index with probability proportional to its weight: Walker's alias
// method as built by Vose (IEEE TSE 17(9), 1991). Each of the n columns holds
// its own index up to a threshold and one alias above it, so a draw is one
// random number and one look-up.
//
// Cost: O(n) to build, O(1) a draw, 12 bytes a weight. The same weights and
// generator give the same draws on every platform.
class AliasTable {
 public:
  // Weights are finite, none negative, not all zero, fewer than 2^32.
  explicit AliasTable(std::span<const double> weights);

  std::size_t size() const { return threshold_.size(); }

  std::size_t draw(Random& random) const {
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = static_cast<Wide>(random()) * threshold_.size();
    const auto column = static_cast<std::size_t>(scaled >> 64);
    return static_cast<std::uint64_t>(scaled) < threshold_[column] ? column : alias_[column];
  }

 private:
  std::vector<std::uint64_t> threshold_;  // share of the column that is its own, in 2^-64
  std::vector<std::uint32_t> alias_;
};

}  // namespace mcsim
