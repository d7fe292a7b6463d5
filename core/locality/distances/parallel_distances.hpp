#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/hit_curve.hpp"

// ExactDistances and DenseDistances on several threads: the same histogram, bit by
// bit, for any number of them.
//
// The stream is taken in segments, and a segment goes through phases with all threads
// in each. Blocks are cut into a part for each thread by their hash, with a table each,
// and the time axis into a stretch for each.
//
//   divide    by time: which part every access belongs to; accesses sorted by part.
//             Few threads skip this: each looks through all accesses for its own
//   exchange  by part: look up and renew the last access to every block, in time order
//   gather    by time: what was looked up, in the order of time again
//   count     by stretch: the distances of accesses whose last ones lie in it
//   move      by part, when the time axis is used up: live slots go to its front
//
// How many blocks were accessed since a slot depends on what happens to it and to those
// after it alone, and how many slots live on how many accesses were first ones. So no
// stretch waits for another, all work on the same slots, and nothing is looked up twice as
// in PARDA. Memory: as one thread, a segment at 9 bytes an access, and a histogram a thread.
namespace mcsim {

enum class ParallelPhase : std::uint8_t { kDivide, kExchange, kGather, kCount, kMove };

template <>
struct Choices<ParallelPhase> {
  static constexpr std::array names{
      std::pair{"divide", ParallelPhase::kDivide}, std::pair{"exchange", ParallelPhase::kExchange},
      std::pair{"gather", ParallelPhase::kGather}, std::pair{"count", ParallelPhase::kCount},
      std::pair{"move", ParallelPhase::kMove}};
};

// Seconds of processor time, of all segments so far.
struct PhaseTime {
  double critical = 0;  // of the slowest thread in each segment
  double total = 0;     // of all threads
};
using PhaseTimes = std::array<PhaseTime, Choices<ParallelPhase>::names.size()>;

struct ParallelOptions {
  int threads = 1;
  // Accesses in a segment; 0 takes 2^19 for each thread, at most 2^24.
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
