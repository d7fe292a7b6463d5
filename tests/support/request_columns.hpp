#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "policies/replay/request_hits.hpp"

namespace mcsim::testing {

// Requests with blocks of 100 bytes.
struct Columns {
  std::vector<std::uint64_t> begin{0};
  std::vector<std::uint32_t> bytes;
  std::vector<std::uint32_t> head;

  RequestColumns view() const { return {begin, bytes, head, 100}; }
};

// Requests of up to four accesses, with first and last blocks that are read in part.
inline Columns random_requests(std::size_t accesses, Random& random) {
  Columns columns;
  while (columns.begin.back() < accesses) {
    const std::uint64_t blocks =
        std::min<std::uint64_t>(random.below(5), accesses - columns.begin.back());
    columns.begin.push_back(columns.begin.back() + blocks);
    const std::uint64_t head = blocks == 0 ? 0 : random.below(99);
    const std::uint64_t tail = blocks == 0 ? 0 : random.below(blocks == 1 ? 100 - head : 100);
    columns.head.push_back(static_cast<std::uint32_t>(head));
    columns.bytes.push_back(static_cast<std::uint32_t>(100 * blocks - head - tail));
  }
  return columns;
}

}  // namespace mcsim::testing
