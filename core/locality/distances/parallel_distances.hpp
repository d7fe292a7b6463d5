#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

struct ParallelOptions {
  int threads = 1;
  // Accesses in a segment; 0 takes 2^19 for each thread, at most 2^24.
  std::size_t segment = 0;
  DistanceOptions distances = {};
};

// ExactDistances on several threads. The histogram does not depend on their number.
//
// The stream is cut into segments. All threads work on a segment in two phases:
//
//   exchange  by hash: each thread selects the keys in its range of hashes, looks up and replaces
//             their last accesses in its own table, and stores the old ones by time
//   count     by time axis: each thread counts the distances of accesses whose previous access lies
//             in its range of the axis
//
// The number of blocks accessed since a slot depends only on which later slots were cleared, and
// the number of live slots only on the number of first accesses. Ranges are therefore independent:
// all threads work on the same slots, and no key is looked up twice as in PARDA. When the time axis
// is full, live slots move to its front, table by table. Memory: as for one thread, 5 bytes an
// access of a segment, and a histogram a thread.
//
// Keys of an incomplete segment stay pending until a result is requested, which processes them. So
// two threads must not request results at the same time.
class ParallelDistances {
 public:
  explicit ParallelDistances(ParallelOptions options);
  ~ParallelDistances();

  // Fails with ResourceExhausted if there are too many blocks; the stream ends there.
  absl::Status process(std::span<const std::uint64_t> keys);

  absl::StatusOr<DistanceHistogram> histogram() const;
  Count distinct() const;
  std::size_t bytes() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace mcsim
