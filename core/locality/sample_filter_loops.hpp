#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/isa.hpp"

// The loops behind SpatialFilter, as they were compiled for each instruction set.
namespace mcsim {

// Copies, in their order, the keys with mix64(key ^ salt) <= limit to `out`,
// which has room for `count`, and returns how many they are.
struct SampleFilterLoops {
  std::size_t (*keys)(const std::uint64_t* keys, std::size_t count, std::uint64_t salt,
                      std::uint64_t limit, std::uint64_t* out);
  std::size_t (*ids)(const std::uint32_t* ids, std::size_t count, std::uint64_t salt,
                     std::uint64_t limit, std::uint32_t* out);
};

// `isa` must be one that this processor has.
const SampleFilterLoops& sample_filter_loops(Isa isa);

namespace portable {
extern const SampleFilterLoops kSampleFilterLoops;
}
namespace avx2 {
extern const SampleFilterLoops kSampleFilterLoops;
}
namespace avx512 {
extern const SampleFilterLoops kSampleFilterLoops;
}

}  // namespace mcsim
