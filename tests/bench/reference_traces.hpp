#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/pages.hpp"

// The streams that speeds of this project are stated on, made where they are
// needed: the same keys everywhere.
namespace mcsim::bench {

enum class Stream {
  kZipf,       // Zipf(0.9) over 2 M scrambled blocks; 9 % of 20 M accesses are cold
  kUniform,    // uniform over 10 M; 43 % cold
  kMix,        // 40 % Zipf(1.0) over 1 M, 40 % loops of 0.2, 1 and 4 M, 20 % a scan; 50 % cold
  kZipfLarge,  // 100 M accesses, Zipf(0.9) over 17 M; 14 M blocks
};

struct ReferenceTrace {
  const char* name;
  Pages<std::uint64_t> keys;
  Pages<std::uint32_t> blocks;  // the keys, numbered as they first appear
  std::size_t unique = 0;

  std::span<const std::uint64_t> key_span() const { return {keys.data(), keys.size()}; }
  std::span<const std::uint32_t> block_span() const { return {blocks.data(), blocks.size()}; }
};

// Made on the first call and kept up to one of the next stream.
const ReferenceTrace& reference_trace(Stream stream);

}  // namespace mcsim::bench
