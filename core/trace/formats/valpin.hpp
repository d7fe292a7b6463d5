#pragma once

#include "core/trace/formats/key_integers.hpp"

namespace mcsim {

// The trace type `valpin` of libCacheSim: object ids as 64-bit little-endian integers. By content
// its files are detected as keys-u64-le.
class ValpinReader final
    : public KeyIntegersReader<ValpinReader, std::uint64_t, ByteOrder::little> {
 public:
  static constexpr ComponentInfo kInfo{"valpin", "libCacheSim's valpin: 64-bit little-endian ids",
                                       "Yang, Yue, Rashmi: libCacheSim, valpin"};
  using KeyIntegersReader::KeyIntegersReader;

  static Guess guess(const Head&) {
    return {kInfo.name, Fit::kNo, "the same records as those of keys-u64-le"};
  }
};

}  // namespace mcsim
