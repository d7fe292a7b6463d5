#include "core/locality/profile/vm_meters.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/pages.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

// Sorts numbers digit by digit, from the last on; `spare` is room for as many.
void sort_by_digits(std::span<std::uint32_t> numbers, std::vector<std::uint32_t>& spare) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  if (numbers.size() < kDigits) {
    std::ranges::sort(numbers);
    return;
  }
  const std::uint32_t largest = std::ranges::max(numbers);
  spare.resize(numbers.size());
  std::span<std::uint32_t> from = numbers;
  std::span<std::uint32_t> to = spare;
  for (int shift = 0; shift < 32 && (largest >> shift) != 0; shift += kBits) {
    const auto digit = [&](std::uint32_t number) { return (number >> shift) % kDigits; };
    std::array<std::uint32_t, kDigits> next{};  // place of the next number with that digit
    for (const std::uint32_t number : from) ++next[digit(number)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const std::uint32_t number : from) to[next[digit(number)]++] = number;
    std::swap(from, to);
  }
  if (from.data() != numbers.data()) std::ranges::copy(from, numbers.begin());
}

// Distances of one age that are not in the log yet.
class Unlogged {
 public:
  void make_room(std::size_t more) {
    if (distances_.size() < size_ + more + 1) {
      distances_.resize(std::max(size_ + more + 1, 2 * distances_.size()));
    }
  }
  // Without a branch: what is not to stay is overwritten by the next.
  void add(Count distance, bool stays) {
    distances_[size_] = static_cast<std::uint32_t>(distance);
    size_ += stays ? 1 : 0;
  }
  void move_to(DistanceLog& log, std::size_t age, std::vector<std::uint32_t>& spare) {
    const auto sorted = std::span(distances_).first(size_);
    sort_by_digits(sorted, spare);
    for (std::size_t i = 0; i < sorted.size();) {
      std::size_t end = i + 1;
      while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
      log.add(age, {sorted[i], static_cast<std::uint32_t>(end - i)});
      i = end;
    }
    size_ = 0;
  }

 private:
  std::vector<std::uint32_t> distances_;
  std::size_t size_ = 0;
};

// In which period, counted back from this one, a block had been accessed before; so many, if in
// none of them.
class Ages {
 public:
  explicit Ages(std::size_t periods) : distinct_(periods) {}

  std::size_t size() const { return distinct_.size(); }
  std::size_t of(Count distance) {
    std::size_t age = 0;
    for (Count& distinct : distinct_) {
      const bool fresh = is_new(distance, distinct);
      age += fresh ? 1 : 0;
      distinct += fresh ? 1 : 0;
    }
    return age;
  }
  // Blocks since this period began.
  Count& distinct() { return distinct_.front(); }
  void end_period() {
    std::shift_right(distinct_.begin(), distinct_.end(), 1);
    distinct_.front() = 0;
  }

 private:
  std::vector<Count> distinct_;  // since this period began, the one before it, and so on
};

template <std::size_t kSize>
void add_times(std::array<Count, kSize>& sum, const std::array<Count, kSize>& of, Count times) {
  for (std::size_t i = 0; i < kSize; ++i) sum[i] += times * of[i];
}

void add_times(Load& sum, const Load& of, Count times) {
  sum.requests += times * of.requests;
  sum.read_requests += times * of.read_requests;
  sum.accesses += times * of.accesses;
  sum.reads += times * of.reads;
  add_times(sum.bytes, of.bytes, times);
}

void add_times(ClassCounts& sum, const ClassCounts& of, Count times) {
  add_times(sum.cold, of.cold, times);
  add_times(sum.again, of.again, times);
}

// What the last periods add up to, one after the other.
template <class T>
class Sliding {
 public:
  explicit Sliding(std::size_t periods) : periods_(periods) {}

  // With another one.
  const T& add(const T& period) {
    add_times(sum_, period, 1);
    if (last_.size() < periods_) {
      last_.push_back(period);
    } else {
      add_times(sum_, std::exchange(last_[oldest_], period), -1);
      oldest_ = (oldest_ + 1) % periods_;
    }
    return sum_;
  }
  // So many are there.
  std::size_t size() const { return last_.size(); }

 private:
  std::size_t periods_;
  std::vector<T> last_;
  std::size_t oldest_ = 0;
  T sum_{};
};

// Distances of a stream, by their age. `kOnlyReads`: of a stream of all, those of reads.
template <bool kOnlyReads>
class CurveOfVm final : public VmMeter {
 public:
  CurveOfVm(DistanceLog& log, bool among_reads)
      : log_(log), among_reads_(among_reads), ages_(log.ages()), across_(log.ages()) {}

  void count(const Stretch& stretch) override {
    const Stream& stream = among_reads_ ? stretch.reads : stretch.all;
    make_room(stream.distances.size());
    if (log_.ages() == 1) {
      count_within(stream.distances, stretch.writes);
    } else {
      count_ages(stream.distances, stretch.writes);
    }
    accesses_ += static_cast<Count>(stream.distances.size());
    if constexpr (kOnlyReads) {
      accesses_ -= std::accumulate(stretch.writes.begin(), stretch.writes.end(), Count{0});
    }
  }

  void end_period(std::size_t) override {
    flush();
    log_.end_period(std::exchange(accesses_, 0));
    ages_.end_period();
  }

 private:
  static bool counted(std::span<const std::uint8_t> writes, std::size_t i) {
    if constexpr (kOnlyReads) return writes[i] == 0;
    return true;
  }

  // What lies within the period, and all that does not.
  void count_within(std::span<const Count> distances, std::span<const std::uint8_t> writes) {
    Count distinct = ages_.distinct();
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const Count distance = distances[i];
      const bool fresh = is_new(distance, distinct);
      // Without a branch: what does not count within falls into the first place.
      const bool within = !fresh && counted(writes, i);
      ++within_[within ? static_cast<std::size_t>(distance) + 1 : 0];
      across_.front().add(distance, fresh && distance != kCold && counted(writes, i));
      distinct += fresh ? 1 : 0;
    }
    ages_.distinct() = distinct;
  }

  void count_ages(std::span<const Count> distances, std::span<const std::uint8_t> writes) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const Count distance = distances[i];
      const std::size_t age = ages_.of(distance);
      if (distance == kCold || !counted(writes, i)) continue;
      if (age == 0) {
        ++within_[static_cast<std::size_t>(distance) + 1];
      } else {
        across_[age - 1].add(distance, true);
      }
    }
  }

  // Distances within a period are below its distinct blocks, and no count overflows.
  void make_room(std::size_t more) {
    if (unlogged_ + more > std::numeric_limits<std::uint32_t>::max()) flush();
    unlogged_ += more;
    const std::size_t places = static_cast<std::size_t>(ages_.distinct()) + more + 1;
    if (within_.size() < places) within_.resize(std::max(places, 2 * within_.size()));
    for (Unlogged& of_age : across_) of_age.make_room(more);
  }

  void flush() {
    const std::size_t places = static_cast<std::size_t>(ages_.distinct()) + 1;
    const auto within = std::span(within_).first(std::min(within_.size(), places));
    for (std::size_t place = 1; place < within.size(); ++place) {
      if (within[place] == 0) continue;
      log_.add(0, {static_cast<std::uint32_t>(place - 1), within[place]});
    }
    std::ranges::fill(within, 0U);
    for (std::size_t age = 0; age < across_.size(); ++age) {
      across_[age].move_to(log_, age + 1, spare_);
    }
    unlogged_ = 0;
  }

  DistanceLog& log_;
  bool among_reads_;
  Count accesses_ = 0;
  Ages ages_;
  std::uint64_t unlogged_ = 0;
  std::vector<std::uint32_t> within_;  // how often a distance occurred, a place further on
  std::vector<Unlogged> across_;       // by age, from 1 on
  std::vector<std::uint32_t> spare_;   // to sort them with
};

class LoadOfVm final : public VmMeter {
 public:
  LoadOfVm(const Accesses& trace, const LoadMeter& meter, std::size_t periods, VmId vm,
           Series<Load>& into)
      : trace_(trace), bytes_(meter.bytes), vm_(vm), into_(into), window_(periods) {}

  void count(const Stretch& stretch) override {
    load_.requests += static_cast<Count>(stretch.requests.size());
    load_.accesses += static_cast<Count>(stretch.all.blocks.size());
    const std::uint8_t* const op = trace_.request_op.data();
    const std::uint64_t* const begin = trace_.request_begin.data();
    Count read_requests = 0;
    std::uint64_t reads = 0;
    for (const std::size_t r : stretch.requests) {
      if (static_cast<Op>(op[r]) != Op::kRead) continue;
      ++read_requests;
      reads += begin[r + 1] - begin[r];
    }
    load_.read_requests += read_requests;
    load_.reads += static_cast<Count>(reads);
    if (!bytes_) return;
    for (const std::size_t r : stretch.requests) {
      load_.bytes[trace_.request_op[r]] += trace_.request_bytes[r];
    }
  }

  void end_period(std::size_t period) override {
    into_[period][vm_] = window_.add(std::exchange(load_, {}));
  }

 private:
  const Accesses& trace_;
  bool bytes_;
  VmId vm_;
  Series<Load>& into_;
  Load load_;
  Sliding<Load> window_;
};

// Distinct blocks of single periods: those that are new.
class DistinctOfPeriod final : public VmMeter {
 public:
  DistinctOfPeriod(OpFilter ops, VmId vm, Series<Count>& into) : ops_(ops), vm_(vm), into_(into) {}

  void count(const Stretch& stretch) override {
    const Stream& stream = ops_ == OpFilter::kReads ? stretch.reads : stretch.all;
    counter_.count(stream.distances, stream.blocks);
  }
  void end_period(std::size_t period) override {
    into_[period][vm_] = counter_.accesses() == 0 ? 0 : counter_.unique();
    counter_.clear();
  }

 private:
  OpFilter ops_;
  VmId vm_;
  Series<Count>& into_;
  WindowCounter counter_{UniqueCounter::kExact};
};

// Blocks with more than `reuses` accesses in a window that slides by a period.
class DistinctOfWindow final : public VmMeter {
 public:
  DistinctOfWindow(const DistinctMeter& meter, std::size_t periods, std::size_t blocks, VmId vm,
                   Series<Count>& into)
      : ops_(meter.ops),
        reuses_(static_cast<std::uint64_t>(meter.reuses)),
        periods_(periods),
        vm_(vm),
        into_(into),
        accesses_of_(blocks) {}

  void count(const Stretch& stretch) override {
    const Stream& stream = ops_ == OpFilter::kReads ? stretch.reads : stretch.all;
    for (const std::uint32_t block : stream.blocks) {
      set_ += ++accesses_of_[block] == reuses_ + 1 ? 1 : 0;
    }
    current_.insert(current_.end(), stream.blocks.begin(), stream.blocks.end());
  }

  void end_period(std::size_t period) override {
    into_[period][vm_] = set_;
    window_.push_back(std::exchange(current_, {}));
    if (window_.size() < periods_) return;
    for (const std::uint32_t block : window_.front()) {
      set_ -= accesses_of_[block]-- == reuses_ + 1 ? 1 : 0;
    }
    window_.pop_front();
  }

 private:
  OpFilter ops_;
  std::uint64_t reuses_;
  std::size_t periods_;
  VmId vm_;
  Series<Count>& into_;
  Pages<std::uint32_t> accesses_of_;  // in the window, by block
  Count set_ = 0;
  std::vector<std::uint32_t> current_;             // accesses of this period
  std::deque<std::vector<std::uint32_t>> window_;  // and of those before
};

// Reuse intensity of one VM, from its accesses to one figure a period.
class IntensityOfVm final : public VmMeter {
 public:
  IntensityOfVm(const IntensityMeter& meter, std::span<const Piece> periods,
                std::span<const Piece> windows, VmId vm, IntensitySeries& into)
      : meter_(meter),
        vm_(vm),
        periods_(periods),
        windows_(windows),
        into_(into),
        counter_(meter.unique) {}

  void count(const Stretch& stretch) override {
    const Stream& stream = meter_.ops == OpFilter::kReads ? stretch.reads : stretch.all;
    counter_.count(stream.distances, stream.blocks);
  }

  std::size_t next_cut() const override { return windows_[open_].cut; }
  // Closes the windows that end before it.
  void begin_request(std::size_t request) override {
    while (request >= windows_[open_].cut) close_window();
  }

  void end_period(std::size_t period) override {
    while (open_ < windows_.size() && windows_[open_].ends_within(periods_[period])) {
      close_window();
    }
    if (closed_ > 0) intensity_.value = aggregate();
    intensity_.window_unique = last_unique_;
    closed_ = 0;
    sum_ = 0;
    max_ = -std::numeric_limits<double>::infinity();
    into_.values[period][vm_] = intensity_;
  }

  std::span<const RiSample> samples() const override { return samples_; }

 private:
  void close_window() {
    const Count accesses = counter_.accesses();
    last_unique_ = accesses == 0 ? 0 : counter_.unique();
    last_ = meter_.kind == IntensityKind::kShare
                ? reuse_intensity(last_unique_, accesses)
                : reuse_intensity_per_second(last_unique_, accesses, meter_.window.ns);
    if (accesses > 0) samples_.push_back({windows_[open_].end, vm_, last_, accesses});
    counter_.clear();
    sum_ += last_;
    max_ = std::max(max_, last_);
    ++closed_;
    ++open_;
  }

  double aggregate() const {
    switch (meter_.aggregate) {
      case RiAggregate::kLast:
        return last_;
      case RiAggregate::kMean:
        return sum_ / static_cast<double>(closed_);
      case RiAggregate::kMax:
        return max_;
    }
    return last_;
  }

  const IntensityMeter& meter_;
  VmId vm_;
  std::span<const Piece> periods_;
  std::span<const Piece> windows_;
  IntensitySeries& into_;
  WindowCounter counter_;
  std::size_t open_ = 0;  // the window that collects
  std::vector<RiSample> samples_;
  // Of the last closed window.
  double last_ = 0;
  Count last_unique_ = 0;
  // Of the windows closed in this period.
  Count closed_ = 0;
  double sum_ = 0;
  double max_ = -std::numeric_limits<double>::infinity();
  // Of the last period in which a window closed.
  Intensity intensity_;
};

// Calls `add` for every access with its distance, whether it is a write and its class.
template <class Add>
void for_each_class(const Stretch& stretch, Add add) {
  const std::span<const Count> distances = stretch.all.distances;
  if (stretch.writes.empty()) {
    for (const Count distance : distances) add(distance, 0, 0);
    return;
  }
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const std::size_t writes = stretch.writes[i];
    add(distances[i], writes, 2 * writes + stretch.written_before[i]);
  }
}

// What an access is does not depend on how long ago its period was.
class ClassesOfVm final : public VmMeter {
 public:
  ClassesOfVm(bool remembers, std::size_t periods, VmId vm, Series<ClassCounts>& into)
      : remembers_(remembers), vm_(vm), into_(into), window_(periods) {}

  void count(const Stretch& stretch) override {
    remembers_ ? count_classes<true>(stretch) : count_classes<false>(stretch);
  }

  void end_period(std::size_t period) override {
    into_[period][vm_] = window_.add(std::exchange(counts_, {}));
    distinct_ = 0;
  }

 private:
  template <bool kRemembers>
  void count_classes(const Stretch& stretch) {
    Count distinct = distinct_;
    for_each_class(stretch, [&](Count distance, std::size_t writes, std::size_t which) {
      if (kRemembers ? distance == kCold : is_new(distance, distinct)) {
        ++distinct;
        ++counts_.cold[writes];
      } else {
        ++counts_.again[which];
      }
    });
    distinct_ = distinct;
  }

  bool remembers_;  // what came before the period
  VmId vm_;
  Series<ClassCounts>& into_;
  Count distinct_ = 0;
  ClassCounts counts_;
  Sliding<ClassCounts> window_;
};

// Accesses become cold as the last one to their block leaves the window.
class ClassesOfWindow final : public VmMeter {
 public:
  ClassesOfWindow(std::size_t periods, VmId vm, Series<ClassCounts>& into)
      : vm_(vm), into_(into), ages_(periods), warm_for_(periods + 1), window_(periods) {}

  void count(const Stretch& stretch) override {
    for_each_class(stretch, [&](Count distance, std::size_t writes, std::size_t which) {
      ++by_operation_[writes];
      ++warm_for_[ages_.size() - ages_.of(distance)][which];
    });
  }

  void end_period(std::size_t period) override {
    ages_.end_period();
    warm_for_.front() = {};
    ClassCounts& counts = into_[period][vm_];
    for (const auto& again : warm_for_) add_times(counts.again, again, 1);
    std::shift_left(warm_for_.begin(), warm_for_.end(), 1);
    warm_for_.back() = {};
    const auto& all = window_.add(std::exchange(by_operation_, {}));
    for (std::size_t op = 0; op < all.size(); ++op) {
      counts.cold[op] = all[op] - counts.again[2 * op] - counts.again[2 * op + 1];
    }
  }

 private:
  VmId vm_;
  Series<ClassCounts>& into_;
  Ages ages_;
  // By class, accesses that so many periods from this one on have the last one in their window.
  std::vector<std::array<Count, 4>> warm_for_;
  std::array<Count, 2> by_operation_{};  // of this period
  Sliding<std::array<Count, 2>> window_;
};

class ResponsesOfVm final : public VmMeter {
 public:
  ResponsesOfVm(const Accesses& trace, Nanoseconds period, std::size_t periods, VmId vm,
                Series<Responses>& into)
      : trace_(trace),
        period_ns_(static_cast<double>(period)),
        vm_(vm),
        into_(into),
        window_(periods) {}

  void count(const Stretch& stretch) override {
    for (const std::size_t r : stretch.requests) {
      const Nanoseconds took = trace_.request_response[r];
      if (took < 0) continue;
      ++taken_.requests;
      taken_.together_ns += took;
    }
  }

  void end_period(std::size_t period) override {
    const Taken& all = window_.add(std::exchange(taken_, {}));
    const auto together_ns = static_cast<double>(all.together_ns);
    into_[period][vm_] = {
        .requests = all.requests,
        .mean_ns = all.requests == 0 ? 0 : together_ns / static_cast<double>(all.requests),
        .outstanding = together_ns / (period_ns_ * static_cast<double>(window_.size()))};
  }

 private:
  // Sums of 64 bits might overflow, and floating ones leave something behind.
  __extension__ using Wide = __int128;
  struct Taken {
    Count requests = 0;
    Wide together_ns = 0;

    friend void add_times(Taken& sum, const Taken& of, Count times) {
      sum.requests += times * of.requests;
      sum.together_ns += times * of.together_ns;
    }
  };

  const Accesses& trace_;
  double period_ns_;
  VmId vm_;
  Series<Responses>& into_;
  Taken taken_;
  Sliding<Taken> window_;
};

template <class T>
Series<T> rows(const MeterSetup& setup) {
  return Series<T>(setup.periods.size(), std::vector<T>(setup.trace.vms.size()));
}

}  // namespace

std::size_t VmMeter::next_cut() const { return std::numeric_limits<std::size_t>::max(); }

std::size_t periods_of(const TimerClock& clock, Duration window) {
  return window.ns == 0 ? 1 : static_cast<std::size_t>(window.ns / clock.period);
}

Measured room_for(const MeterSetup& setup) {
  struct Room {
    const MeterSetup& setup;
    Measured operator()(const CurveMeter& meter) const {
      if (meter.foresight == Foresight::kWhole) return std::vector<DistanceLog>();
      const std::size_t ages = periods_of(setup.spec.clock, meter.window);
      return std::vector<DistanceLog>(setup.trace.vms.size(), DistanceLog(ages));
    }
    Measured operator()(const LoadMeter&) const { return rows<Load>(setup); }
    Measured operator()(const DistinctMeter&) const { return rows<Count>(setup); }
    Measured operator()(const IntensityMeter&) const {
      return IntensitySeries{.values = rows<Intensity>(setup), .samples = {}};
    }
    Measured operator()(const ClassMeter&) const { return rows<ClassCounts>(setup); }
    Measured operator()(const ResponseMeter&) const { return rows<Responses>(setup); }
  };
  return std::visit(Room{setup}, setup.spec.what);
}

namespace {

// The meter of a VM.
struct Maker {
  const MeterSetup& setup;
  VmId vm;
  Measured& into;

  std::unique_ptr<VmMeter> operator()(const CurveMeter& meter) const {
    if (meter.foresight == Foresight::kWhole) return nullptr;
    DistanceLog& log = std::get<std::vector<DistanceLog>>(into)[vm];
    const bool among_reads = meter.between == OpFilter::kReads;
    if (setup.has_writes && meter.ops == OpFilter::kReads && !among_reads) {
      return std::make_unique<CurveOfVm<true>>(log, among_reads);
    }
    return std::make_unique<CurveOfVm<false>>(log, among_reads);
  }
  std::unique_ptr<VmMeter> operator()(const LoadMeter& meter) const {
    return std::make_unique<LoadOfVm>(setup.trace, meter, periods(meter.window), vm,
                                      std::get<Series<Load>>(into));
  }
  std::unique_ptr<VmMeter> operator()(const DistinctMeter& meter) const {
    auto& series = std::get<Series<Count>>(into);
    if (periods(meter.window) == 1 && meter.reuses == 0) {
      return std::make_unique<DistinctOfPeriod>(meter.ops, vm, series);
    }
    const auto blocks = static_cast<std::size_t>(setup.trace.vms[vm].unique_blocks);
    return std::make_unique<DistinctOfWindow>(meter, periods(meter.window), blocks, vm, series);
  }
  std::unique_ptr<VmMeter> operator()(const IntensityMeter& meter) const {
    return std::make_unique<IntensityOfVm>(meter, setup.periods, setup.windows, vm,
                                           std::get<IntensitySeries>(into));
  }
  std::unique_ptr<VmMeter> operator()(const ClassMeter& meter) const {
    auto& series = std::get<Series<ClassCounts>>(into);
    const bool remembers = meter.scope != DistanceScope::kInterval;
    if (!remembers && periods(meter.window) > 1) {
      return std::make_unique<ClassesOfWindow>(periods(meter.window), vm, series);
    }
    const bool all = meter.scope == DistanceScope::kCumulative;
    const std::size_t window = all ? setup.periods.size() : periods(meter.window);
    return std::make_unique<ClassesOfVm>(remembers, window, vm, series);
  }
  std::unique_ptr<VmMeter> operator()(const ResponseMeter& meter) const {
    return std::make_unique<ResponsesOfVm>(setup.trace, setup.spec.clock.period,
                                           periods(meter.window), vm,
                                           std::get<Series<Responses>>(into));
  }

 private:
  std::size_t periods(Duration window) const { return periods_of(setup.spec.clock, window); }
};

}  // namespace

std::unique_ptr<VmMeter> meter_of(const MeterSetup& setup, VmId vm, Measured& into) {
  return std::visit(Maker{setup, vm, into}, setup.spec.what);
}

}  // namespace mcsim
