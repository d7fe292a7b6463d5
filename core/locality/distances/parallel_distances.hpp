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

// ExactDistances on several threads. Their number does not change the histogram.
//
// The stream is cut into segments, and a segment goes through two phases with all threads in each:
//
//   exchange  by hash: each thread selects the keys in its range of hashes, looks up and renews
//             their last accesses in a table of its own, and stores the previous ones by time
//   count     by time axis: each thread counts the distances of accesses with previous ones in its
//             range of the axis
//
// The number of blocks accessed since a slot depends on deaths of later slots alone, and the number
// of live slots on the number of first accesses. So no range waits for another, all threads work on
// the same slots, and no key is looked up twice as in PARDA. When the time axis is full, live slots
// move to its front, table by table. Memory: as one thread, a segment at 5 bytes an access, and a
// histogram a thread.
//
// Less than a segment may wait to be worked on. A result does the work, so two threads must not
// request results at once.
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
