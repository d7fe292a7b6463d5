#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/isa.hpp"
#include "core/base/pages.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/live_slots.hpp"
#include "core/containers/log_linear_bins.hpp"
#include "core/locality/hit_curve.hpp"

// What the loops of the distance engine (distance_loops.inl) work on. Users take
// ExactDistances or DenseDistances.
namespace mcsim {

// How often each distance occurred, in LogLinearBins of so many bits. With 0,
// every distance has a bin of its own.
//
// Counts are 32 bits wide where they are incremented, which halves the memory that
// increments are scattered over, and are carried over to 64 before they overflow.
class DistanceBins {
 public:
  explicit DistanceBins(int bits) : bits_(bits) {}

  static std::size_t bin_of(std::uint64_t distance, int bits) {
    return bits == 0 ? distance : LogLinearBins{bits}.index(distance);
  }
  // The largest distance in the bin.
  static std::uint64_t last_of(std::size_t bin, int bits) {
    return bits == 0 ? bin : LogLinearBins{bits}.highest(bin);
  }

  int bits() const { return bits_; }
  // Makes distances below `end` countable `more` times.
  void make_room(std::uint64_t end, std::size_t more);
  std::uint32_t* counts() { return counts_.data(); }
  // Empties the 32-bit counts into the 64-bit ones.
  void carry();
  void clear();

  DistanceHistogram histogram(Count cold) const;
  // Of the bins in use: the rest of the room was never touched.
  std::size_t bytes() const {
    return in_use_ * sizeof(std::uint32_t) + carried_.capacity() * sizeof(Count);
  }

 private:
  int bits_;
  std::size_t in_use_ = 0;     // bins that may be above 0
  std::uint64_t counted_ = 0;  // since the last carry, at most
  Pages<std::uint32_t> counts_;
  std::vector<Count> carried_;
};

// The time axis: every access takes the next slot, and a slot is live as long as
// it is its block's last. A block's distance is the number of live slots after its
// own. When the axis is used up, the live slots move to its front.
//
// Slot 0 belongs to no access and stays live, so that a last access of 0 is none.
struct TimeAxis {
  static constexpr std::size_t kSlotsPerBlock = 8;
  static constexpr std::size_t kFewestSlots = std::size_t{64} * LiveSlots::kLineSlots;

  TimeAxis();

  LiveSlots slots;
  std::uint64_t now = 1;   // code of the next access
  std::uint64_t live = 1;  // live slots before `now`

  std::uint64_t distinct() const { return live - 1; }
  // Slots that are left in the current line.
  std::size_t room_in_line() const { return LiveSlots::kLineSlots - now % LiveSlots::kLineCodes; }
  // Accesses take slots of the current line.
  void advance(std::size_t accesses);
  // After the live slots moved to the front of an axis meant for `entries` blocks.
  void begin_again(std::size_t entries);
  // The same for an axis of at least so many slots, or LiveSlots::kMaxSlots.
  void begin_again_with(std::size_t wanted);
};

// Discarded blocks in the LRU stack. A discard leaves a hole at the block's depth: in every larger
// cache that space is free, and no smaller cache had the block. An access to a block below the
// topmost hole fills this hole, for caches with free space evict nothing, and leaves its own space
// as a hole. A first access fills the topmost hole alone. (J. G. Thompson and A. J. Smith,
// Efficient (stack) algorithms for analysis of write-back and sector memories, TOCS 7(1), 1989.)
//
// A hole is a slot that stays live without a block. Once a block was discarded, a stream is counted
// access by access.
struct StackHoles {
  // The last access of a discarded block. No slot has this code.
  static constexpr std::uint32_t kDiscarded = 0xffffffff;

  bool in_use = false;
  std::vector<std::uint32_t> codes;  // a heap; the topmost hole first
  Count discarded = 0;               // blocks that were not accessed again

  void add(std::uint32_t code);
  // Returns the slot that dies by an access to the block of slot `code`, or by a first access
  // (0); 0 for none.
  std::uint32_t fill(std::uint32_t code);
};

struct DistanceState {
  explicit DistanceState(int bin_bits) : bins(bin_bits) {}

  TimeAxis axis;
  DistanceBins bins;
  Count cold = 0;
  StackHoles holes;

  Count distinct() const {
    return static_cast<Count>(axis.distinct() - holes.codes.size()) + holes.discarded;
  }
  DistanceHistogram histogram() const { return bins.histogram(cold); }
  std::size_t bytes() const {
    return axis.slots.bytes() + bins.bytes() + holes.codes.capacity() * sizeof(std::uint32_t);
  }
};

// --- The loops (distance_loops.inl) ----------------------------------------------

// Counts the distances of `keys`, and lists them unless `distances` is null. False
// if there turned out to be more than `max_blocks` blocks.
template <Isa kIsa>
bool count_key_distances(BlockTable& table, DistanceState& state,
                         std::span<const std::uint64_t> keys, Count* distances, Count max_blocks);
// The same for block numbers below last.size().
template <Isa kIsa>
void count_block_distances(std::span<std::uint32_t> last, DistanceState& state,
                           std::span<const std::uint32_t> blocks, Count* distances);
// The same among holes, for accesses that take the slots from axis.now on, within a line of slots.
// `before` has the codes of their previous accesses.
template <Isa kIsa>
void count_among_holes(DistanceState& state, std::span<const std::uint32_t> before,
                       Count* distances);
// Maps codes to those after the live slots of the axis have moved to its front.
template <Isa kIsa>
void move_codes(std::span<std::uint32_t> codes, const TimeAxis& axis);

}  // namespace mcsim
