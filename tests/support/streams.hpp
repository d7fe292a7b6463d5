#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"

// Streams of the kinds that sampling is tried on, of any length.
namespace mcsim::streams {

using Keys = std::vector<std::uint64_t>;

// Ranks below `blocks` with a probability near rank^-skew, skew != 1, by inversion.
inline std::uint64_t zipf_rank(Random& random, double blocks, double skew) {
  const double end = std::pow(blocks, 1 - skew);
  return static_cast<std::uint64_t>(std::pow(1 + random.uniform() * (end - 1), 1 / (1 - skew))) - 1;
}

inline Keys zipf(std::size_t length, double blocks, double skew, std::uint64_t seed) {
  Random random(seed);
  Keys keys(length);
  for (auto& key : keys) key = mix64(zipf_rank(random, blocks, skew));
  return keys;
}

inline Keys uniform(std::size_t length, std::uint64_t blocks, std::uint64_t seed) {
  Random random(seed);
  Keys keys(length);
  for (auto& key : keys) key = random.below(blocks);
  return keys;
}

// In runs of 16 to 48: 40 % skewed over `blocks`, 40 % loops over a fifth of
// them, all and four times as many, 20 % never seen again.
inline Keys mix(std::size_t length, std::uint64_t blocks, std::uint64_t seed) {
  Random random(seed);
  struct Loop {
    std::uint64_t base, size, at;
  };
  Loop loops[] = {{std::uint64_t{1} << 40, blocks / 5, 0},
                  {std::uint64_t{2} << 40, blocks, 0},
                  {std::uint64_t{3} << 40, 4 * blocks, 0}};
  std::uint64_t scanned = std::uint64_t{4} << 40;
  Keys keys;
  while (keys.size() < length) {
    const std::uint64_t run = 16 + random.below(33);
    const double kind = random.uniform();
    const double which = random.uniform();
    Loop& loop = loops[which < 0.1 ? 0 : which < 0.4 ? 1 : 2];
    for (std::uint64_t i = 0; i < run; ++i) {
      if (kind < 0.4) {
        keys.push_back(zipf_rank(random, static_cast<double>(blocks), 0.99));
      } else if (kind < 0.8) {
        keys.push_back(loop.base + loop.at++ % loop.size);
      } else {
        keys.push_back(scanned++);
      }
    }
  }
  keys.resize(length);
  return keys;
}

}  // namespace mcsim::streams
