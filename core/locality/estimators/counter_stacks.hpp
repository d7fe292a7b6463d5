#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/containers/key_table.hpp"
#include "core/containers/log_histogram.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

enum class StackCounter : std::uint8_t { kHyperLogLog, kExact };

template <>
struct Choices<StackCounter> {
  static constexpr std::array names{std::pair{"hyperloglog", StackCounter::kHyperLogLog},
                                    std::pair{"exact", StackCounter::kExact}};
};

// What one counter of a stack knew before and after a batch.
struct CounterStep {
  std::size_t started;  // the batch it started with
  double before;        // distinct blocks from there on
  double after;
};

// Hits by the capacity they need, from what batches did to a stack of counters.
class CounterHits {
 public:
  explicit CounterHits(StackCounter counter);

  // `steps` oldest counter first; the last started with the batch.
  void add(const std::vector<CounterStep>& steps, Count references);
  CurveEstimate curve() const;
  std::size_t bytes() const { return hits_.bytes(); }

 private:
  LogHistogram<double> hits_;
  Count references_ = 0;
  Count batches_ = 0;
  double cold_ = 0;
  double largest_batch_ = 0;  // distinct blocks
};

// What a counter stack wrote down of every batch, as plain columns: enough for
// the curve of any stretch of the stream, and far smaller than the stream.
struct CounterStream {
  // One entry a batch.
  std::vector<Nanoseconds> time;  // of its first reference
  std::vector<Count> references;
  std::vector<std::uint64_t> end;  // its counters are [end[i - 1], end[i])
  // One entry a batch and counter, oldest counter first.
  std::vector<std::uint32_t> started;  // the batch the counter started with
  std::vector<double> distinct;        // blocks from there to the end of this batch

  void add(Nanoseconds at, Count count, const std::vector<CounterStep>& steps);

  // Hits of LRU caches that are empty at first and meet the batches whose first
  // reference is in [from, to); `counter` is what the stack counted with. Fails if
  // the columns do not fit together.
  absl::StatusOr<CurveEstimate> curve(Nanoseconds from, Nanoseconds to, StackCounter counter) const;

  std::size_t bytes() const;
  friend bool operator==(const CounterStream&, const CounterStream&) = default;
};

// Distinct blocks since the start of every batch of references. When a batch adds
// fewer new blocks to a counter than to the one started a batch later, the
// difference was last referenced in between and has the counter's value as its
// distance. Counters are sketches, and one that has nearly caught up with the next
// older one is dropped, so that their number grows with the logarithm of the
// distinct blocks.
//
// A batch is hashed once, into the counter that starts with it, which the others
// then take in. Exact counters need the last batch of every block instead, and
// with batches of one reference and no pruning give the exact curve.
class CounterStacksEstimator final : public Estimator {
 public:
  struct Params {
    Count batch = 1'000'000;
    Duration batch_time{60 * kSecond};
    double pruning = 0.02;
    StackCounter counter = StackCounter::kHyperLogLog;
    int precision = 12;
    bool stream = false;

    static constexpr auto fields() {
      return std::tuple{
          Field{"batch", &Params::batch, "most references of a batch", 1},
          Field{"batch_time", &Params::batch_time,
                "longest time from the first reference of a batch to the last; 0 is no limit", 0},
          Field{"pruning", &Params::pruning,
                "a counter is dropped when it is this close to the next older, as a share", 0, 1},
          Field{"counter", &Params::counter, "what counts distinct blocks"},
          Field{"precision", &Params::precision, "log2 of a sketch's registers",
                HyperLogLog::kMinPrecision, HyperLogLog::kMaxPrecision},
          Field{"stream", &Params::stream, "keep the counts of every batch"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "counter-stacks",
      .summary = "Distances from counters of distinct blocks that started at different times.",
      .reference = "Wires et al., OSDI 2014"};

  CounterStacksEstimator(const Params& params, EstimatorContext context);

  absl::Status process(const References& next) override;
  absl::StatusOr<CurveEstimate> curve() override;
  double distinct() const override;
  std::size_t bytes() const override;

  // All batches so far, the present one as if it ended here. Fails unless the
  // stream is kept.
  absl::StatusOr<CounterStream> stream() const;

 private:
  struct Counter {
    std::size_t started;
    double distinct;                    // at the end of the last batch
    std::optional<HyperLogLog> sketch;  // of all blocks since it started; or
    Count latest = 0;                   // blocks last referenced between its start and the next's
  };

  void start_counter();
  void add(std::uint64_t key);
  void end_batch();
  void prune();
  // Lets all counters take in the present batch, and says what that did.
  static std::vector<CounterStep> take_in(std::vector<Counter>& counters);
  // What it would do if the batch ended here.
  std::vector<CounterStep> steps_so_far() const;

  Params params_;
  std::uint64_t salt_;
  std::vector<Counter> counters_;  // oldest first; the last one is the present batch's
  std::size_t batch_ = 0;          // number of the present batch
  Count in_batch_ = 0;             // its references
  Nanoseconds batch_start_ = 0;
  Count references_ = 0;
  KeyTable<std::size_t> last_batch_;  // of every block, for exact counters
  CounterHits hits_;
  CounterStream stream_;
};

}  // namespace mcsim
