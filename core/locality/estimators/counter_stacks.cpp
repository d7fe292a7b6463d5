#include "core/locality/estimators/counter_stacks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// Bins for every doubling of a capacity: finer than the resolution of a sketch.
constexpr Count kSketchBins = 1024;

// With fewer batches the curve only has a few steps.
constexpr Count kFewBatches = 10;

// The steps of a batch in a stack that began with batch `first`. If the counter of that batch was
// dropped, the next older one replaces it, since their values were nearly equal.
absl::StatusOr<std::vector<CounterStep>> steps_of(const CounterStream& stream, std::size_t batch,
                                                  std::size_t first) {
  const auto counters_of = [&](std::size_t b) {
    const auto at = [&](std::uint64_t i) {
      return stream.started.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return std::pair{at(b == 0 ? 0 : stream.end[b - 1]), at(stream.end[b])};
  };
  const auto [begin, end] = counters_of(batch);
  if (begin == end || *(end - 1) != batch || !std::is_sorted(begin, end)) {
    return invalid_argument("counter stream: batch {} has no counter of its own", batch);
  }
  const auto distinct_of = [&](auto counter) {
    return stream.distinct[static_cast<std::size_t>(counter - stream.started.begin())];
  };
  std::vector<CounterStep> steps;
  const auto after_first = std::upper_bound(begin, end, first);
  for (auto counter = after_first - (after_first != begin); counter != end; ++counter) {
    double before = 0;
    if (*counter != batch) {
      const auto [earlier, earlier_end] = counters_of(batch - 1);
      const auto same = std::lower_bound(earlier, earlier_end, *counter);
      if (same == earlier_end || *same != *counter) {
        return invalid_argument("counter stream: batch {} lacks the counter of batch {}", batch - 1,
                                *counter);
      }
      before = distinct_of(same);
    }
    steps.push_back({.started = *counter, .before = before, .after = distinct_of(counter)});
  }
  return steps;
}

}  // namespace

CounterHits::CounterHits(StackCounter counter)
    : hits_(counter == StackCounter::kExact ? LogHistogram<double>::kMostBins : kSketchBins) {}

void CounterHits::add(const std::vector<CounterStep>& steps, Count references) {
  references_ += references;
  ++batches_;
  largest_batch_ = std::max(largest_batch_, steps.back().after);
  // A block that is new to a younger counter but not to an older one was last referenced in
  // between. With sketches the difference may be negative. Errors of batches cancel out, and
  // clamping here would turn noise into hits.
  auto unknown = static_cast<double>(references);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const double added = step->after - step->before;
    hits_.add(std::max<Count>(1, std::llround(step->after)), unknown - added);
    unknown = added;
  }
  cold_ += unknown;
}

CurveEstimate CounterHits::curve() const {
  CurveEstimate curve;
  curve.accesses = static_cast<double>(references_);
  curve.resolved_from = largest_batch_;
  if (batches_ < kFewBatches) {
    curve.note = fmt::format("the stream has only {} {}; use smaller batches for more steps",
                             batches_, batches_ == 1 ? "batch" : "batches");
  }
  const double most = std::clamp(curve.accesses - cold_, 0.0, curve.accesses);
  double sum = 0;
  double hits = 0;
  hits_.for_each([&](Count lowest, Count width, double mass) {
    // Negative hits are subtracted from those of larger capacities.
    sum += mass;
    if (sum <= hits) return;
    hits = std::min(sum, most);
    curve.capacity.push_back(static_cast<double>(lowest + (width - 1) / 2));
    curve.hits.push_back(hits);
  });
  return curve;
}

void CounterStream::add(Nanoseconds at, Count count, const std::vector<CounterStep>& steps) {
  time.push_back(at);
  references.push_back(count);
  for (const CounterStep& step : steps) {
    started.push_back(static_cast<std::uint32_t>(step.started));
    distinct.push_back(step.after);
  }
  end.push_back(started.size());
}

std::size_t CounterStream::bytes() const {
  return time.capacity() * sizeof(Nanoseconds) + references.capacity() * sizeof(Count) +
         end.capacity() * sizeof(std::uint64_t) + started.capacity() * sizeof(std::uint32_t) +
         distinct.capacity() * sizeof(double);
}

absl::StatusOr<CurveEstimate> CounterStream::curve(Nanoseconds from, Nanoseconds to,
                                                   StackCounter counter) const {
  if (references.size() != time.size() || end.size() != time.size() ||
      started.size() != distinct.size() || (!end.empty() && end.back() != started.size()) ||
      !std::is_sorted(end.begin(), end.end()) || !std::is_sorted(time.begin(), time.end())) {
    return invalid_argument("counter stream: columns of {} batches and {} counts do not match",
                            time.size(), started.size());
  }
  // A sketch may count more blocks than references, but by a limited factor.
  const double most = 8 * std::accumulate(references.begin(), references.end(), 2.0);
  for (const double blocks : distinct) {
    if (blocks >= 0 && blocks <= most) continue;
    return invalid_argument("counter stream: a counter of {} blocks, of {} batches", blocks,
                            time.size());
  }
  const auto batch_at = [&](Nanoseconds at) {
    return static_cast<std::size_t>(std::lower_bound(time.begin(), time.end(), at) - time.begin());
  };
  const std::size_t first = batch_at(from);
  CounterHits hits(counter);
  for (std::size_t batch = first; batch < batch_at(to); ++batch) {
    MCSIM_ASSIGN_OR_RETURN(const std::vector<CounterStep> steps, steps_of(*this, batch, first));
    hits.add(steps, references[batch]);
  }
  return hits.curve();
}

CounterStacksEstimator::CounterStacksEstimator(const Params& params, EstimatorContext context)
    : params_(params), salt_(mix64(context.seed)), hits_(params.counter) {
  start_counter();
}

absl::Status CounterStacksEstimator::process(const References& next) {
  for (std::size_t i = 0; i < next.keys.size(); ++i) {
    const Nanoseconds now = next.times.empty() ? references_ : next.times[i];
    const bool is_late = params_.batch_time.ns > 0 && !next.times.empty() &&
                         now - batch_start_ >= params_.batch_time.ns;
    if (in_batch_ == params_.batch || (in_batch_ > 0 && is_late)) end_batch();
    if (in_batch_ == 0) batch_start_ = now;
    add(next.keys[i]);
    ++in_batch_;
    ++references_;
  }
  return absl::OkStatus();
}

void CounterStacksEstimator::add(std::uint64_t key) {
  Counter& present = counters_.back();
  if (present.sketch) {
    present.sketch->add(key ^ salt_);
    return;
  }
  const auto [last, is_new] = last_batch_.try_emplace(key, batch_);
  if (!is_new) {
    if (last->second == batch_) return;
    const auto next = std::upper_bound(
        counters_.begin(), counters_.end(), last->second,
        [](std::size_t batch, const Counter& counter) { return batch < counter.started; });
    --(next - 1)->latest;
    last->second = batch_;
  }
  ++present.latest;
}

std::vector<CounterStep> CounterStacksEstimator::merge_batch(std::vector<Counter>& counters) {
  std::vector<CounterStep> steps(counters.size());
  const Counter& present = counters.back();
  Count since = 0;
  for (std::size_t i = counters.size(); i-- > 0;) {
    Counter& counter = counters[i];
    since += counter.latest;
    auto found = static_cast<double>(since);
    if (counter.sketch) {
      // The sketches have the same precision, so merging cannot fail.
      if (&counter != &present) counter.sketch->merge(*present.sketch).IgnoreError();
      found = counter.sketch->estimate();
    }
    // An estimate may decrease where a sketch switches between formulas.
    const double before = std::exchange(counter.distinct, std::max(counter.distinct, found));
    steps[i] = {.started = counter.started, .before = before, .after = counter.distinct};
  }
  return steps;
}

std::vector<CounterStep> CounterStacksEstimator::steps_so_far() const {
  std::vector<Counter> copy = counters_;
  return merge_batch(copy);
}

void CounterStacksEstimator::end_batch() {
  const std::vector<CounterStep> steps = merge_batch(counters_);
  hits_.add(steps, in_batch_);
  if (params_.stream) stream_.add(batch_start_, in_batch_, steps);
  prune();
  ++batch_;
  in_batch_ = 0;
  start_counter();
}

void CounterStacksEstimator::prune() {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < counters_.size(); ++i) {
    if (counters_[i].distinct >= (1 - params_.pruning) * counters_[kept].distinct) {
      counters_[kept].latest += counters_[i].latest;
    } else if (++kept != i) {
      counters_[kept] = std::move(counters_[i]);
    }
  }
  counters_.erase(counters_.begin() + static_cast<std::ptrdiff_t>(kept + 1), counters_.end());
}

void CounterStacksEstimator::start_counter() {
  counters_.push_back({.started = batch_, .distinct = 0, .sketch = {}});
  if (params_.counter == StackCounter::kHyperLogLog) {
    counters_.back().sketch.emplace(params_.precision);
  }
}

absl::StatusOr<CurveEstimate> CounterStacksEstimator::curve() {
  if (in_batch_ == 0) return hits_.curve();
  CounterHits all = hits_;
  all.add(steps_so_far(), in_batch_);
  return all.curve();
}

double CounterStacksEstimator::distinct() const { return steps_so_far().front().after; }

absl::StatusOr<CounterStream> CounterStacksEstimator::stream() const {
  if (!params_.stream) {
    return invalid_argument("counter-stacks: no stream was kept (set stream to true)");
  }
  CounterStream all = stream_;
  if (in_batch_ > 0) all.add(batch_start_, in_batch_, steps_so_far());
  return all;
}

std::size_t CounterStacksEstimator::bytes() const {
  const std::size_t sketch = counters_.back().sketch ? counters_.back().sketch->bytes() : 0;
  return sizeof *this + counters_.capacity() * sizeof(Counter) + counters_.size() * sketch +
         hits_.bytes() + bytes_of(last_batch_) + stream_.bytes();
}

}  // namespace mcsim
