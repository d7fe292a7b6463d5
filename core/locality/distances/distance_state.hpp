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

// The state that the loops of the distance engine (distance_loops.inl) work on. Other code uses
// ExactDistances or DenseDistances.
namespace mcsim {

// How often each distance occurred, in LogLinearBins of `bits` bits; with 0 bits every distance has
// its own bin.
//
// Increments go to 32-bit counts, which halves the memory that they are scattered over. The counts
// are carried to 64 bits before they overflow.
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
  // Makes room for `more` counts of distances below `end`.
  void make_room(std::uint64_t end, std::size_t more);
  std::uint32_t* counts() { return counts_.data(); }
  // Moves the 32-bit counts into the 64-bit ones.
  void carry();
  void clear();

  DistanceHistogram histogram(Count cold) const;
  // The bins in use; the other reserved pages were never touched.
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

// The time axis: every access takes the next slot, and a slot is live while it is its block's last.
// A block's distance is the number of live slots after its own. When the axis is full, the live
// slots move to its front.
//
// Slot 0 belongs to no access and stays live: a last access of 0 means none.
struct TimeAxis {
  static constexpr std::size_t kSlotsPerBlock = 8;
  static constexpr std::size_t kFewestSlots = std::size_t{64} * LiveSlots::kLineSlots;

  TimeAxis();

  LiveSlots slots;
  std::uint64_t now = 1;   // code of the next access
  std::uint64_t live = 1;  // live slots before `now`

  std::uint64_t distinct() const { return live - 1; }
  // Free slots in the current line.
  std::size_t room_in_line() const { return LiveSlots::kLineSlots - now % LiveSlots::kLineCodes; }
  // Marks the next `accesses` slots of the current line as taken.
  void advance(std::size_t accesses);
  // Resets the axis for `entries` blocks after the live slots moved to its front.
  void reset_for_blocks(std::size_t entries);
  // The same for an axis of at least `wanted` slots, at most LiveSlots::kMaxSlots.
  void reset_with_slots(std::size_t wanted);
};

// Discarded blocks in the LRU stack. A discard leaves a hole at the block's depth: that space is
// free in every larger cache, and no smaller cache had the block. An access to a block below the
// topmost hole fills this hole, because caches with free space evict nothing, and leaves its own
// space as a hole. A first access only fills the topmost hole. (J. G. Thompson and A. J. Smith,
// Efficient (stack) algorithms for analysis of write-back and sector memories, TOCS 7(1), 1989.)
//
// A hole is a live slot without a block. After the first discard a stream is counted access by
// access.
struct StackHoles {
  // Marks the last access of a discarded block. No slot has this code.
  static constexpr std::uint32_t kDiscarded = 0xffffffff;

  bool in_use = false;
  std::vector<std::uint32_t> codes;  // a heap; the topmost hole first
  Count discarded = 0;               // blocks that were not accessed again

  void add(std::uint32_t code);
  // Returns the slot to clear after an access to the block at slot `code`, or after a first access
  // (`code` 0); 0 if no slot is to be cleared.
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

// Counts the distances of `keys`, and stores them unless `distances` is null. Returns false if
// there are more than `max_blocks` blocks.
template <Isa kIsa>
bool count_key_distances(BlockTable& table, DistanceState& state,
                         std::span<const std::uint64_t> keys, Count* distances, Count max_blocks);
// The same for block numbers below last.size().
template <Isa kIsa>
void count_block_distances(std::span<std::uint32_t> last, DistanceState& state,
                           std::span<const std::uint32_t> blocks, Count* distances);
// The same with holes, for accesses that take the slots from axis.now on, within a line of slots.
// `before` has the codes of their previous accesses.
template <Isa kIsa>
void count_among_holes(DistanceState& state, std::span<const std::uint32_t> before,
                       Count* distances);
// Returns the number of blocks and holes above the block at slot `code` in the stack.
template <Isa kIsa>
Count depth_of(const DistanceState& state, std::uint32_t code);
// Maps codes to those after the live slots of the axis have moved to its front.
template <Isa kIsa>
void move_codes(std::span<std::uint32_t> codes, const TimeAxis& axis);

}  // namespace mcsim
