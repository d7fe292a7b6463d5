#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/base/params.hpp"
#include "core/base/types.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

enum class UniqueCounter : std::uint8_t { kExact, kHyperLogLog };

template <>
struct Choices<UniqueCounter> {
  static constexpr std::array names{std::pair{"exact", UniqueCounter::kExact},
                                    std::pair{"hyperloglog", UniqueCounter::kHyperLogLog}};
};

// Reuse intensity of a window as in Multi-Cache: 1 - unique / accesses, and 0
// for an empty one.
double reuse_intensity(Count unique, Count accesses);

// Reuse intensity as in vCacheShare (Meng et al., USENIX ATC 2014): accesses to
// each distinct block a second; 0 for an empty window. `window` > 0.
double reuse_intensity_per_second(Count unique, Count accesses, Nanoseconds window);

// Counts accesses and distinct blocks of one VM, window after window: exactly, or by
// HyperLogLog to 1 %, which may find more distinct blocks than there were accesses.
//
// It is told of every access how many distinct other blocks came since the last to the same
// one. Of a block that is new to the window these are all of the window, else fewer.
class WindowCounter {
 public:
  explicit WindowCounter(UniqueCounter unique);

  // The next accesses: their reuse distances, kCold for first ones, and their blocks.
  void count(std::span<const Count> distances, std::span<const std::uint32_t> blocks);

  Count accesses() const { return accesses_; }
  Count unique() const;

  // Starts the next window.
  void clear();

 private:
  std::optional<HyperLogLog> sketch_;
  Count accesses_ = 0;
  Count unique_ = 0;
};

}  // namespace mcsim
