#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {

// Draw an index with probability proportional to its weight: Walker's alias method as built by Vose
// (IEEE TSE 17(9), 1991). Each of the n columns has its own index below a threshold and one alias
// above it. So a draw is one random number and one look-up.
//
// Cost: O(n) to build, O(1) a draw, 16 bytes a weight. The same weights and generator give the same
// draws on every platform.
class AliasTable {
 public:
  // Weights are finite, none negative, not all zero, fewer than 2^32.
  explicit AliasTable(std::span<const double> weights);

  std::size_t size() const { return columns_.size(); }

  std::size_t draw(Random& random) const { return resolve(random()); }

  // Fill `drawn` with draws, the same as one by one; their cache misses overlap.
  void draw(Random& random, std::span<std::size_t> drawn) const {
    for (std::size_t& raw : drawn) raw = random();
    for (std::size_t& index : drawn) index = resolve(index);
  }

 private:
  struct Column {
    std::uint64_t threshold;  // fraction of the column that is its own, in 2^-64
    std::uint32_t alias;
  };

  std::size_t resolve(std::uint64_t raw) const {
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = static_cast<Wide>(raw) * columns_.size();
    const auto index = static_cast<std::size_t>(scaled >> 64);
    const Column& column = columns_[index];
    return static_cast<std::uint64_t>(scaled) < column.threshold ? index : column.alias;
  }

  std::vector<Column> columns_;
};

}  // namespace mcsim
