#include <array>

#include "core/locality/profile/sliding_window.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// Counts that can be summed.
template <std::size_t kSize>
struct Counts : std::array<Count, kSize> {
  void operator+=(const Counts& of) {
    for (std::size_t i = 0; i < kSize; ++i) (*this)[i] += of[i];
  }
  void operator-=(const Counts& of) {
    for (std::size_t i = 0; i < kSize; ++i) (*this)[i] -= of[i];
  }
};

struct ClassSums {
  Counts<2> cold{};   // by operation
  Counts<4> again{};  // by RequestClass

  void operator+=(const ClassSums& of) { cold += of.cold, again += of.again; }
  void operator-=(const ClassSums& of) { cold -= of.cold, again -= of.again; }
};

// Calls `add` for every access with its distance, a flag for writes and its class, and `remove` for
// every removal with its depth.
template <class Add, class Remove>
void for_each_class(const Chunk& chunk, Add add, Remove remove) {
  const std::span<const Count> distances = chunk.all.distances;
  chunk.all.for_each_run(
      [&](std::size_t begin, std::size_t end) {
        if (chunk.writes.empty()) {
          for (std::size_t i = begin; i < end; ++i) add(distances[i], 0, 0);
          return;
        }
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t writes = chunk.writes[i];
          add(distances[i], writes, 2 * writes + chunk.written_before[i]);
        }
      },
      [&](const Removal& removal) { remove(removal.depth); });
}

// An access is cold if it is the first to its block since a discard: in the trace if the meter
// `remembers` earlier periods, otherwise in the period.
class ClassesOfVm final : public SeriesMeter<ClassCounts> {
 public:
  ClassesOfVm(bool remembers, std::size_t periods, VmId vm, Series<ClassCounts>& into)
      : SeriesMeter(vm, into), remembers_(remembers), window_(periods) {}

  void count(const Chunk& chunk) override {
    remembers_ ? count_classes<true>(chunk) : count_classes<false>(chunk);
  }

 private:
  ClassCounts take(std::size_t) override {
    stack_ = {};
    const ClassSums& sums = window_.add(std::exchange(counts_, {}));
    return {sums.cold, sums.again};
  }

  template <bool kRemembers>
  void count_classes(const Chunk& chunk) {
    RecentStack stack = stack_;
    for_each_class(
        chunk,
        [&](Count distance, std::size_t writes, std::size_t which) {
          if (kRemembers ? distance == kCold : stack.add(distance)) {
            ++counts_.cold[writes];
          } else {
            ++counts_.again[which];
          }
        },
        [&](Count depth) { stack.remove(depth); });
    stack_ = stack;
  }

  bool remembers_;
  RecentStack stack_;
  ClassSums counts_;
  SlidingSum<ClassSums> window_;
};

// An access becomes cold when the previous access to its block leaves the window.
class ClassesOfWindow final : public SeriesMeter<ClassCounts> {
 public:
  ClassesOfWindow(std::size_t periods, VmId vm, Series<ClassCounts>& into)
      : SeriesMeter(vm, into), ages_(periods), warm_for_(periods + 1), window_(periods) {}

  void count(const Chunk& chunk) override {
    for_each_class(
        chunk,
        [&](Count distance, std::size_t writes, std::size_t which) {
          ++by_operation_[writes];
          ++warm_for_[ages_.size() - ages_.of(distance)][which];
        },
        [&](Count depth) { ages_.remove(depth); });
  }

 private:
  ClassCounts take(std::size_t) override {
    ages_.end_period();
    warm_for_.front() = {};
    Counts<4> again{};
    for (const Counts<4>& of : warm_for_) again += of;
    std::shift_left(warm_for_.begin(), warm_for_.end(), 1);
    warm_for_.back() = {};
    const auto& all = window_.add(std::exchange(by_operation_, {}));
    ClassCounts counts{.cold = {}, .again = again};
    for (std::size_t op = 0; op < all.size(); ++op) {
      counts.cold[op] = all[op] - again[2 * op] - again[2 * op + 1];
    }
    return counts;
  }

  Ages ages_;
  // [n][class]: accesses whose previous access stays in the window for n periods from this one on.
  std::vector<Counts<4>> warm_for_;
  Counts<2> by_operation_{};  // in this period
  SlidingSum<Counts<2>> window_;
};

}  // namespace

TraceMeterPtr make_meter(const ClassMeter& meter, const MeterSetup& setup, VmId vm,
                         Series<ClassCounts>& into) {
  const bool remembers = meter.scope != DistanceScope::kInterval;
  std::size_t periods = setup.periods_in(meter.window);
  if (!remembers && periods > 1) return std::make_unique<ClassesOfWindow>(periods, vm, into);
  // The window of a cumulative meter never drops a period.
  if (meter.scope == DistanceScope::kCumulative) periods = setup.periods.size();
  return std::make_unique<ClassesOfVm>(remembers, periods, vm, into);
}

}  // namespace mcsim
