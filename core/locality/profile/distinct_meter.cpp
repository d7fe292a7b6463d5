#include <deque>
#include <utility>

#include "core/base/pages.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// Distinct blocks of single periods.
class DistinctOfPeriod final : public SeriesMeter<Count> {
 public:
  DistinctOfPeriod(OpFilter ops, VmId vm, Series<Count>& into) : SeriesMeter(vm, into), ops_(ops) {}

  void count(const Chunk& chunk) override {
    const Stream& stream = chunk.of(ops_);
    stream.for_each_run(
        [&](std::size_t begin, std::size_t end) {
          stack_.add_all(stream.distances.subspan(begin, end - begin), [](std::size_t, bool) {});
        },
        [&](const Removal& removal) { stack_.remove(removal.depth); });
  }

 private:
  Count take(std::size_t) override { return std::exchange(stack_, {}).blocks(); }

  OpFilter ops_;
  RecentStack stack_;
};

// Blocks with more than `reuses` accesses in a window that slides by a period.
class DistinctOfWindow final : public SeriesMeter<Count> {
 public:
  DistinctOfWindow(const DistinctMeter& meter, const MeterSetup& setup, VmId vm,
                   Series<Count>& into)
      : SeriesMeter(vm, into),
        ops_(meter.ops),
        reuses_(static_cast<std::uint64_t>(meter.reuses)),
        periods_(setup.periods_in(meter.window)),
        accesses_of_(static_cast<std::size_t>(setup.trace.vms[vm].unique_blocks)) {}

  void count(const Chunk& chunk) override {
    const Stream& stream = chunk.of(ops_);
    stream.for_each_run(
        [&](std::size_t begin, std::size_t end) {
          for (const std::uint32_t block : stream.blocks.subspan(begin, end - begin)) {
            set_ += ++accesses_of_[block] == reuses_ + 1 ? 1 : 0;
          }
        },
        [&](const Removal& removal) { discard(removal.block); });
    current_.insert(current_.end(), stream.blocks.begin(), stream.blocks.end());
  }

 private:
  Count take(std::size_t) override {
    const Count distinct = set_;
    window_.push_back(std::exchange(current_, {}));
    if (window_.size() < periods_) return distinct;
    for (const std::uint32_t block : window_.front()) {
      if (!discarded_of_.empty() && discarded_of_[block] > 0) {
        --discarded_of_[block];
      } else {
        set_ -= accesses_of_[block]-- == reuses_ + 1 ? 1 : 0;
      }
    }
    window_.pop_front();
    return distinct;
  }

  // The accesses so far no longer count; they are the first of the block to leave the window.
  void discard(std::uint32_t block) {
    if (discarded_of_.empty()) discarded_of_.resize(accesses_of_.size());
    discarded_of_[block] += accesses_of_[block];
    set_ -= accesses_of_[block] > reuses_ ? 1 : 0;
    accesses_of_[block] = 0;
  }

  OpFilter ops_;
  std::uint64_t reuses_;
  std::size_t periods_;
  Pages<std::uint32_t> accesses_of_;         // in the window, by block, since its last discard
  std::vector<std::uint32_t> discarded_of_;  // in the window before; empty without a discard
  Count set_ = 0;
  std::vector<std::uint32_t> current_;             // accesses of this period
  std::deque<std::vector<std::uint32_t>> window_;  // accesses of the periods before it
};

}  // namespace

TraceMeterPtr make_meter(const DistinctMeter& meter, const MeterSetup& setup, VmId vm,
                         Series<Count>& into) {
  if (setup.periods_in(meter.window) == 1 && meter.reuses == 0) {
    return std::make_unique<DistinctOfPeriod>(meter.ops, vm, into);
  }
  return std::make_unique<DistinctOfWindow>(meter, setup, vm, into);
}

}  // namespace mcsim
