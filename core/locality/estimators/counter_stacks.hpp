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

// The value of one counter of a stack before and after a batch.
struct CounterStep {
  std::size_t started;  // the batch it started with
  double before;        // distinct blocks from there on
  double after;
};

// Hits by required capacity, from the steps of a stack of counters.
class CounterHits {
 public:
  explicit CounterHits(StackCounter counter);

  // `steps` are ordered, the oldest counter first; the last counter started with the batch.
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

// The counters after every batch, as plain columns: enough for the curve of any range of the
// stream, and far smaller than the stream.
struct CounterStream {
  // One entry a batch.
  std::vector<Nanoseconds> time;  // of its first reference
  std::vector<Count> references;
  std::vector<std::uint64_t> end;  // its counters are [end[i - 1], end[i])
  // One entry a batch and counter, oldest counter first.
  std::vector<std::uint32_t> started;  // the batch the counter started with
  std::vector<double> distinct;        // blocks from there to the end of this batch

  void add(Nanoseconds at, Count count, const std::vector<CounterStep>& steps);

  // Hits of LRU caches that are empty at first and process the batches whose first reference is in
  // [from, to). `counter` is the kind of counters in the stack. Fails if the columns are
  // inconsistent.
  absl::StatusOr<CurveEstimate> curve(Nanoseconds from, Nanoseconds to, StackCounter counter) const;

  std::size_t bytes() const;
  friend bool operator==(const CounterStream&, const CounterStream&) = default;
};

// A stack of counters: distinct blocks since the start of every batch of references. If a batch
// adds fewer new blocks to a counter than to the next younger one, the difference was last
// referenced in between, at a distance of the counter's value. Counters are sketches. A counter
// nearly equal to the next older one is dropped, so their number grows with the logarithm of the
// distinct blocks.
//
// A batch is hashed once, into the counter that starts with it, which is then merged into the
// others. Exact counters need the last batch of every block instead; with batches of one reference
// and no pruning they give the exact curve.
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

  // All batches so far; the current one is included as if it ended here. Fails unless the stream is
  // kept.
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
  // Merges the current batch into all counters and returns the steps.
  static std::vector<CounterStep> merge_batch(std::vector<Counter>& counters);
  // The steps if the batch ended here.
  std::vector<CounterStep> steps_so_far() const;

  Params params_;
  std::uint64_t salt_;
  std::vector<Counter> counters_;  // oldest first; the last one belongs to the current batch
  std::size_t batch_ = 0;          // number of the current batch
  Count in_batch_ = 0;             // its references
  Nanoseconds batch_start_ = 0;
  Count references_ = 0;
  KeyTable<std::size_t> last_batch_;  // of every block, for exact counters
  CounterHits hits_;
  CounterStream stream_;
};

}  // namespace mcsim
