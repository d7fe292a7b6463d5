#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/params.hpp"
#include "core/base/types.hpp"
#include "core/containers/epoch_set.hpp"
#include "core/containers/hyperloglog.hpp"

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

// Counts accesses and distinct blocks of one VM, window after window. Exact
// (four bytes a block), or by HyperLogLog to 1 %, which may find more distinct
// blocks than there were accesses.
class WindowCounter {
 public:
  // Blocks are numbers in [0, blocks).
  WindowCounter(UniqueCounter unique, std::size_t blocks);

  void access(std::size_t block) {
    ++accesses_;
    if (sketch_) {
      sketch_->add(block);
    } else {
      unique_ += seen_.insert(block) ? 1 : 0;
    }
  }

  Count accesses() const { return accesses_; }
  Count unique() const;

  // Starts the next window.
  void clear();

 private:
  EpochSet seen_;
  std::optional<HyperLogLog> sketch_;
  Count accesses_ = 0;
  Count unique_ = 0;
};

}  // namespace mcsim
