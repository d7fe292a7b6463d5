#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/base/types.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// An array of weights, and the sum of those before any place. O(log n) with a base of 16: level
// k + 1 has the sums of 16 entries of level k.
class PrefixSums {
 public:
  explicit PrefixSums(std::size_t size);

  std::uint32_t operator[](std::size_t at) const { return weights_[at]; }
  Count total() const { return total_; }
  // Set an entry that is 0.
  void set(std::size_t at, std::uint32_t weight);
  void clear(std::size_t at);
  // The sum of [0, end).
  Count before(std::size_t end) const;
  // Prefetch for before(at) and clear(at).
  void prefetch(std::size_t at) const {
    prefetch_line(&weights_[at]);
    if (!levels_.empty()) prefetch_line(&levels_[0][at >> kBits]);
  }
  std::size_t bytes() const;

 private:
  static constexpr int kBits = 4;

  Pages<std::uint32_t> weights_;
  std::vector<Pages<Count>> levels_;
  Count total_ = 0;
};

// Reuse distances of objects in bytes: the bytes of all distinct other objects accessed since the
// last access to the same object. If every object keeps its size, LRU of `c` bytes hits iff they
// and the object itself fit into c bytes, for every c that holds the largest object.
//
// Objects are numbers in [0, objects). A time axis has the bytes of every object at its last access
// (Olken 1981); a full axis is compacted. 12 bytes an object for the axis, 8 for the rest.
class ByteDistances {
 public:
  explicit ByteDistances(std::size_t objects);

  // Return the distance of an access to an object of `bytes`; kCold for a first one.
  Count access(std::uint32_t object, std::uint32_t bytes);
  // Prefetch for an access in two steps: the place of the last access, then what is there.
  void prefetch_last(std::uint32_t object) const { prefetch_line(&last_[object]); }
  void prefetch_axis(std::uint32_t object) const {
    if (last_[object] != 0) axis_.prefetch(last_[object] - 1);
  }
  std::size_t bytes() const;

 private:
  void compact();

  Pages<std::uint32_t> last_;  // by object: the place of its last access, + 1; 0: none
  Pages<std::uint32_t> object_at_;
  PrefixSums axis_;
  std::size_t size_;
  std::size_t end_ = 0;
};

// Return the distance of every access.
absl::StatusOr<std::vector<Count>> byte_distances(std::span<const std::uint32_t> objects,
                                                  std::span<const std::uint32_t> bytes,
                                                  std::size_t unique);

struct ByteCurveOptions {
  // The share of all objects that the accesses are to: the bytes of other objects are scaled.
  double rate = 1;
  std::size_t warm_up = 0;  // first accesses, which are not counted
  Tick tick = nullptr;
};

struct ByteCurve {
  CurveEstimate hits;
  std::size_t bytes = 0;  // memory
};

// The hits of LRU over its bytes, of objects and of bytes. Reliable from the largest object on, if
// every object keeps its size. Memory: 16 bytes an access.
absl::StatusOr<ByteCurve> byte_curve(std::span<const std::uint32_t> objects,
                                     std::span<const std::uint32_t> bytes, std::size_t unique,
                                     const ByteCurveOptions& options = {});

}  // namespace mcsim
