#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/base/params.hpp"
#include "core/base/types.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/distances/recent_stack.hpp"

namespace mcsim {

enum class UniqueCounter : std::uint8_t { kExact, kHyperLogLog };

template <>
struct Choices<UniqueCounter> {
  static constexpr std::array names{std::pair{"exact", UniqueCounter::kExact},
                                    std::pair{"hyperloglog", UniqueCounter::kHyperLogLog}};
};

// Reuse intensity of a window as in Multi-Cache: 1 - unique / accesses, 0 for an empty window.
double reuse_intensity(Count unique, Count accesses);

// Reuse intensity as in vCacheShare (Meng et al., USENIX ATC 2014): accesses to
// each distinct block a second; 0 for an empty window. `window` > 0.
double reuse_intensity_per_second(Count unique, Count accesses, Nanoseconds window);

// Counts the accesses and distinct blocks of one VM, window by window: exactly, or by HyperLogLog
// with an error of 1 %, which may count more distinct blocks than accesses.
//
// A block that is accessed again after a discard counts as another distinct block.
class WindowCounter {
 public:
  explicit WindowCounter(UniqueCounter unique);

  // Counts the next accesses, given their reuse distances (kCold for first ones) and blocks.
  void count(std::span<const Count> distances, std::span<const std::uint32_t> blocks);

  // A block was discarded, which had this depth in the stack of all accesses.
  void discard(Count depth);

  Count accesses() const { return accesses_; }
  Count unique() const;

  // Starts the next window.
  void clear();

 private:
  std::optional<HyperLogLog> sketch_;
  Count accesses_ = 0;
  Count unique_ = 0;
  RecentStack stack_;
  std::uint64_t discards_ = 0;  // in the window, of blocks accessed in it
};

}  // namespace mcsim
