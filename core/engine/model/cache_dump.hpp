#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// The mappings of a deployed cache, from a dump of its metadata (cache_dump of
// thin-provisioning-tools). Blocks of the cache and of its origin have `block_bytes`.
struct CacheDump {
  struct Mapping {
    std::uint32_t cache_block = 0;
    std::uint64_t origin_block = 0;
    bool is_dirty = false;
    std::uint32_t hint = 0;  // stored by the policy
    Count text_line = 0;     // of the mapping in the file
  };

  std::string file;  // for errors
  std::string policy;
  Count block_bytes = 0;
  Count cache_blocks = 0;
  bool has_hints = false;
  Count text_line = 0;            // of these attributes in the file
  std::vector<Mapping> mappings;  // in the order of cache blocks
};

}  // namespace mcsim
