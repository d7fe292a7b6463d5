#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/containers/log_linear_bins.hpp"
#include "core/containers/ranked_slots.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/sampling/hash_sample.hpp"
#include "core/locality/sampling/hot_set.hpp"
#include "core/locality/sampling/reference_sample.hpp"
#include "core/locality/sampling/sampled_curve.hpp"

namespace mcsim {

// The hit curve of LRU from a running system, in constant memory: SHARDS of fixed
// size (Waldspurger et al., FAST 2015).
//
// Blocks in the lowest `initial_rate` of all hashes are tracked, at most `max_blocks`.
// When there is one too many, the one with the highest hash is dropped, and from then
// on no block with a hash as high is tracked: the sampling rate R falls as distinct
// blocks appear. A sampled reference counts for the 1 / R it was sampled at, and so does
// its distance; nothing counted before is ever scaled again. Hashes are one to one, so
// there are no ties.
//
// Nothing is allocated after construction but by curve(), and until then there is
// no floating point: weights are whole numbers of 2^-16 references. A reference
// that is not sampled, as nearly all are, costs its hash and two comparisons.
//
// With `hot_blocks` the blocks found to be referenced most count by themselves,
// each reference once, sampled or not, at the distance that the sampled blocks
// show. What is left to the sample is less uneven. Every reference then costs a
// look into the table of hot blocks.
class OnlineMrc {
 public:
  static constexpr std::size_t kMinBlocks = 16;
  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 22;
  static constexpr double kMinRate = 1e-9;

  // `max_blocks` is in [kMinBlocks, kMaxBlocks]; so is `hot_blocks`, or 0. `initial_rate` is in
  // [kMinRate, 1].
  OnlineMrc(std::size_t max_blocks, std::uint64_t seed, std::size_t hot_blocks = 0,
            double initial_rate = 1);

  void process(std::uint64_t key) {
    const std::uint64_t hash = filter_.hash(key);
    if (references_ == looked_at_.next()) look_at(hash);
    if (hot_.enabled()) {
      process_beside_hot(hash);
    } else if (hash <= filter_.limit()) {
      sampled(hash);
    }
    ++references_;
  }
  void process(std::span<const std::uint64_t> keys);

  // Forgets all references.
  void clear();

  CurveEstimate curve(Correction correction = Correction::kAuto) const;

  // Hits by the capacity, in blocks, from which on they do, as sampled and not
  // corrected. Capacities share bins of kBins.
  static constexpr LogLinearBins kBins{8};
  static constexpr std::size_t kBinCount = kBins.index(kMostCapacity) + 1;
  double hits_in(std::size_t bin) const { return unscaled(histogram_[bin]); }
  double cold() const { return unscaled(cold_); }

  std::uint64_t references() const { return references_; }  // of the stream
  double sampled_references() const { return unscaled(total_); }
  double distinct() const { return unscaled(sample_.size() * weight_); }
  double rate() const { return filter_.rate(); }
  std::size_t max_blocks() const { return max_blocks_; }
  std::size_t hot_blocks() const { return hot_.size(); }  // found so far
  std::size_t bytes() const;

 private:
  static constexpr int kFractionBits = 16;
  static constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
  static constexpr std::size_t kSlotsPerBlock = 4;
  static constexpr std::size_t kBatch = 512;  // keys filtered by one threshold

  static double unscaled(std::uint64_t weight) {
    return static_cast<double>(weight) / static_cast<double>(kOne);
  }

  // A reference to the block of that hash, which is sampled.
  void sampled(std::uint64_t hash);
  // Its distance, and its last reference is now; it is tracked at `at`.
  std::uint64_t touch(std::size_t at, std::uint32_t now);
  // A reference with that distance, in sampled blocks; returns its capacity.
  std::uint64_t add_hit(std::uint64_t distance, std::uint64_t weight);
  // A reference that tells how uneven the blocks are.
  void look_at(std::uint64_t hash);
  // Any reference, where there are hot blocks.
  void process_beside_hot(std::uint64_t hash);
  void hot(std::uint64_t hash, std::uint32_t& time);
  // Sampling starts with the hashes below the initial threshold.
  void start();
  // From now on only hashes below `threshold` are sampled.
  void sample_below(std::uint64_t threshold);
  std::uint32_t next_slot();
  // Tracked blocks last referenced before that slot.
  std::uint32_t before(std::uint32_t slot) const { return slot == 0 ? 0 : slots_.rank(slot - 1); }
  void evict_highest();
  void compact();

  std::size_t max_blocks_;
  SpatialFilter filter_;
  std::uint64_t initial_threshold_;
  std::uint64_t weight_ = kOne;  // 1 / rate
  std::uint64_t spread_ = 0;     // of what is sampled at that rate, see SampleGroups
  // What it was at the last multiple of kBatch references, if it fell since `fell_in_`,
  // counted in these: how a stream is cut into pieces must change nothing.
  std::uint64_t weight_before_ = kOne;
  std::uint64_t fell_in_ = ~std::uint64_t{0};

  HashSample sample_;  // the tracked blocks and the slots of their last references
  RankedSlots slots_;
  std::uint32_t used_ = 0;  // slots
  HotSet hot_;              // with the slot after the last reference

  std::vector<std::uint64_t> histogram_;  // weights by capacity, in kBins
  SampleGroups groups_;
  ReferenceSample looked_at_;
  std::uint64_t cold_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t references_ = 0;
  std::vector<std::uint64_t> survivors_;  // of one batch
};

}  // namespace mcsim
