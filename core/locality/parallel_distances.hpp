#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/exact_distances.hpp"
#include "core/locality/hit_curve.hpp"

// ExactDistances and DenseDistances on several threads: the same histogram, bit by
// bit, for any number of them.
//
// The stream is taken in segments, and a segment goes through phases with all
// threads in each. P threads cut a segment into P chunks of time, and the blocks
// into P parts by their hash, each with a table of its own.
//
//   divide    by chunk: which part every access belongs to; accesses sorted by part.
//             Few threads skip this: each looks through all accesses for its own
//   exchange  by part: look up and renew the last access to every block, in time order
//   clear     by chunk: mark as dead the slots that the chunk's accesses end
//   combine   by stretch of the time axis: the slots that live when each chunk begins
//   count     by chunk: distances, as in one thread, on the chunk's own time axis
//   move      by part, when the time axis is used up: live slots go to its front
//
// What is known of an access after the exchange is where its block was accessed
// last, so unlike in PARDA no chunk waits for another and nothing is looked up
// twice. Memory: as one thread, and a segment at 13 bytes an access; a time axis
// and a histogram a thread.
namespace mcsim {

enum class ParallelPhase : std::uint8_t { kDivide, kExchange, kClear, kCombine, kCount, kMove };

template <>
struct Choices<ParallelPhase> {
  static constexpr std::array names{
      std::pair{"divide", ParallelPhase::kDivide}, std::pair{"exchange", ParallelPhase::kExchange},
      std::pair{"clear", ParallelPhase::kClear},   std::pair{"combine", ParallelPhase::kCombine},
      std::pair{"count", ParallelPhase::kCount},   std::pair{"move", ParallelPhase::kMove}};
};

// Seconds of processor time, of all segments so far.
struct PhaseTime {
  double critical = 0;  // of the slowest thread in each segment
  double total = 0;     // of all threads
};
using PhaseTimes = std::array<PhaseTime, Choices<ParallelPhase>::names.size()>;

struct ParallelOptions {
  int threads = 1;
  // Accesses in a segment; 0 takes as many as there are blocks, within 2^22 to 2^24.
  std::size_t segment = 0;
  DistanceOptions distances = {};
};

namespace parallel_internal {
template <class Blocks>
class Engine;
class KeyParts;
class DenseParts;
}  // namespace parallel_internal

// Of 64-bit keys. Less than a segment may wait to be worked on; asking for a result
// does the work, so results must not be asked for by two threads at once.
class ParallelDistances {
 public:
  explicit ParallelDistances(ParallelOptions options);
  ParallelDistances(ParallelDistances&&) noexcept;
  ParallelDistances& operator=(ParallelDistances&&) noexcept;
  ~ParallelDistances();

  // Fails with ResourceExhausted if there are too many blocks; the stream ends there.
  absl::Status process(std::span<const std::uint64_t> keys);

  absl::StatusOr<DistanceHistogram> histogram() const;
  Count distinct() const;
  std::size_t bytes() const;
  const PhaseTimes& times() const;

 private:
  std::unique_ptr<parallel_internal::Engine<parallel_internal::KeyParts>> engine_;
};

// Of block numbers in [0, blocks).
class ParallelDenseDistances {
 public:
  ParallelDenseDistances(std::size_t blocks, ParallelOptions options);
  ParallelDenseDistances(ParallelDenseDistances&&) noexcept;
  ParallelDenseDistances& operator=(ParallelDenseDistances&&) noexcept;
  ~ParallelDenseDistances();

  void process(std::span<const std::uint32_t> blocks);

  DistanceHistogram histogram() const;
  Count distinct() const;
  std::size_t bytes() const;
  const PhaseTimes& times() const;

 private:
  std::unique_ptr<parallel_internal::Engine<parallel_internal::DenseParts>> engine_;
};

}  // namespace mcsim
