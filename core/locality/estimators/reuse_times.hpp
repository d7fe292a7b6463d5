#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/random.hpp"
#include "core/containers/key_table.hpp"
#include "core/containers/log_histogram.hpp"
#include "core/locality/distances/last_references.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// How reuse times are measured.
struct ReuseTimeParams {
  Count bins = 256;
  double rate = 1;
  Count reservoir = 0;

  static constexpr auto fields() {
    return std::tuple{
        Field{"bins", &ReuseTimeParams::bins,
              "histogram bins for every doubling of the reuse time, made a power of two", 1,
              LogHistogram<Count>::kMostBins},
        Field{"rate", &ReuseTimeParams::rate, "share of the references whose reuse is awaited",
              1e-9, 1},
        Field{"reservoir", &ReuseTimeParams::reservoir,
              "most sampled references to keep, 0 for all", 0, 1e9}};
  }
};

// Reuse times: the number of references until a block is referenced again, 1 if it is the next one.
// A block's first reference has no reuse time. Reuse times need one look-up a reference, while
// distances need an order of all blocks.
//
// Without sampling all references are measured backwards, from the current reference to the block's
// previous one. With sampling a random share of the references is watched until the block is
// referenced again, as in AET. Those still watched at the end represent the first references, which
// are equally many. A reservoir keeps memory constant: each sampled reference enters it with equal
// probability.
class ReuseTimes {
 public:
  ReuseTimes(const ReuseTimeParams& params, std::uint64_t seed);

  void process(std::span<const std::uint64_t> keys);

  Count references() const { return now_; }
  // Measured reuse times, and the number of measured references without one.
  const LogHistogram<Count>& times() const { return times_; }
  Count measured() const { return finite_ + without(); }
  Count without() const { return static_cast<Count>(last_ ? last_->size() : watched_.size()); }
  double distinct() const;
  // Without the object itself.
  std::size_t bytes() const;

 private:
  struct Watch {
    Count start;
    std::size_t place;  // in the reservoir
  };
  struct Sample {
    std::uint64_t key;
    Count time;  // 0: still watched
  };

  void process_sampled(std::span<const std::uint64_t> keys);
  void finish(KeyTable<Watch>::iterator watch);
  void start(std::uint64_t key);
  // Frees the place in the reservoir for the next sample and returns it; kNowhere if the sample is
  // not kept.
  std::size_t take_place();
  void draw_next();

  static constexpr std::size_t kNowhere = ~std::size_t{0};

  double rate_;
  std::size_t reservoir_;
  Random random_;
  LogHistogram<Count> times_;
  Count finite_ = 0;  // reuse times in the histogram
  Count now_ = 0;

  std::optional<LastReferences> last_;  // without sampling: every key's last reference
  KeyTable<Watch> watched_;             // with sampling: keys not referenced again yet
  std::vector<Sample> samples_;         // the reservoir
  Count drawn_ = 0;                     // references sampled so far
  Count next_draw_ = 0;                 // the reference to sample next
};

// The model that maps the share of references with a longer reuse time to the depth of a block in
// the LRU stack. Models follow a block downwards, reference by reference. A reference with a reuse
// time longer than the time since the block's last use must come from below the block and pushes it
// down.
enum class DepthModel : std::uint8_t {
  // c blocks hit reuse times up to the T at which the sum of P(t) over
  // 0 <= t < T reaches c, where P(t) is the share of times > t (Hu et al. 2016).
  kAverageEviction,
  // The distance of a reuse time r is the sum of P(t) over 1 <= t < r
  // (Eklov and Hagersten 2010).
  kExpectedDistance,
};

CurveEstimate curve_of(const ReuseTimes& times, DepthModel model);

// Hits from reuse times alone. O(1) per reference.
template <DepthModel model>
class ReuseTimeEstimator : public Estimator {
 public:
  using Params = ReuseTimeParams;

  ReuseTimeEstimator(const Params& params, EstimatorContext context)
      : times_(params, context.seed) {}

  absl::Status process(const References& next) final {
    times_.process(next.keys);
    return absl::OkStatus();
  }
  absl::StatusOr<CurveEstimate> curve() final { return curve_of(times_, model); }
  double distinct() const final { return times_.distinct(); }
  std::size_t bytes() const final { return sizeof *this + times_.bytes(); }

 private:
  ReuseTimes times_;
};

}  // namespace mcsim
