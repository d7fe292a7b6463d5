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

// The LRU hit curve of a running system, in constant memory: fixed-size SHARDS (Waldspurger et al.,
// FAST 2015).
//
// Blocks in the lowest `initial_rate` of all hashes are tracked, at most `max_blocks`. If there
// is one too many, the block with the highest hash is dropped, and from then on only lower hashes
// are tracked: the sampling rate R falls as distinct blocks appear. The R at the time of a sampled
// reference gives its weight 1 / R and scales its distance; earlier counts are never rescaled.
// Hashes are one-to-one, so there are no ties.
//
// After construction only curve() allocates memory or uses floating point: weights are whole
// numbers of 2^-16 references. A reference that is not sampled, as nearly all are, costs its hash
// and two comparisons.
//
// With `hot_blocks`, each reference to the blocks found to be most referenced counts once, sampled
// or not, at the distance that the sampled blocks show. The sample then covers less uneven blocks.
// Every reference costs an additional look-up in the table of hot blocks.
class OnlineMrc {
 public:
  static constexpr std::size_t kMinBlocks = 16;
  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 22;
  static constexpr double kMinRate = 1e-9;

  // `max_blocks` is in [kMinBlocks, kMaxBlocks], `hot_blocks` too or 0. `initial_rate` is in
  // [kMinRate, 1].
  OnlineMrc(std::size_t max_blocks, std::uint64_t seed, std::size_t hot_blocks = 0,
            double initial_rate = 1);

  void process(std::uint64_t key) {
    const std::uint64_t hash = filter_.hash(key);
    if (references_ == reference_sample_.next()) sample_reference(hash);
    if (hot_.enabled()) {
      process_with_hot(hash);
    } else if (hash <= filter_.limit()) {
      sampled(hash);
    }
    ++references_;
  }
  void process(std::span<const std::uint64_t> keys);

  // Forgets all references.
  void clear();

  CurveEstimate curve(Correction correction = Correction::kAuto) const;

  // Sampled hits without correction, by the smallest capacity, in blocks, at which they hit.
  // Capacities share the bins kBins.
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

  // Counts a reference to a sampled block with this hash.
  void sampled(std::uint64_t hash);
  // Returns the distance of the block at index `at` of the sample and sets its last reference to
  // `now`.
  std::uint64_t touch(std::size_t at, std::uint32_t now);
  // Counts a reference with this distance, in sampled blocks; returns its capacity.
  std::uint64_t add_hit(std::uint64_t distance, std::uint64_t weight);
  // Keeps a reference in `reference_sample_`, by which the unevenness of the blocks is estimated.
  void sample_reference(std::uint64_t hash);
  // Processes a reference if hot blocks are tracked.
  void process_with_hot(std::uint64_t hash);
  void hot(std::uint64_t hash, std::uint32_t& time);
  // Starts sampling with the hashes below the initial threshold.
  void start();
  // Restricts sampling to hashes below `threshold`.
  void sample_below(std::uint64_t threshold);
  std::uint32_t next_slot();
  // The number of tracked blocks last referenced before `slot`.
  std::uint32_t before(std::uint32_t slot) const { return slot == 0 ? 0 : slots_.rank(slot - 1); }
  void evict_highest();
  void compact();

  std::size_t max_blocks_;
  SpatialFilter filter_;
  std::uint64_t initial_threshold_;
  std::uint64_t weight_ = kOne;  // 1 / rate
  std::uint64_t spread_ = 0;     // of a reference sampled at that rate, see SampleGroups
  // The weight at the start of the current batch of kBatch references, if it changed in batch
  // `rate_fell_in_batch_`. With it, results do not depend on how the stream is cut into pieces.
  std::uint64_t weight_before_ = kOne;
  std::uint64_t rate_fell_in_batch_ = ~std::uint64_t{0};

  HashSample sample_;  // the tracked blocks and the slots of their last references
  RankedSlots slots_;
  std::uint32_t used_ = 0;  // slots
  HotSet hot_;              // times are the slot after the last reference

  std::vector<std::uint64_t> histogram_;  // weights by capacity, in kBins
  SampleGroups groups_;
  ReferenceSample reference_sample_;
  std::uint64_t cold_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t references_ = 0;
  std::vector<std::uint64_t> survivors_;  // of one batch
};

}  // namespace mcsim
