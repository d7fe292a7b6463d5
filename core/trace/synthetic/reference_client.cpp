#include "core/trace/synthetic/reference_client.hpp"

#include <algorithm>

namespace mcsim {

void ReferenceClient::grow() {
  constexpr std::size_t kFirst = 1024;
  const std::size_t room = std::min(std::max(kFirst, 2 * block_of_.size()),
                                    static_cast<std::size_t>(client_.cache_blocks));
  index_.reserve(room);
  recency_.reserve(room);
  block_of_.resize(room);
}

}  // namespace mcsim
