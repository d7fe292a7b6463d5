#include <cassert>

#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

class IntensityOfVm final : public SeriesMeter<Intensity> {
 public:
  IntensityOfVm(const IntensityMeter& meter, const MeterSetup& setup, VmId vm,
                IntensitySeries& into)
      : SeriesMeter(vm, into.values),
        meter_(meter),
        vm_(vm),
        periods_(setup.periods),
        windows_(setup.windows),
        counter_(meter.unique) {}

  void count(const Chunk& chunk) override {
    const Stream& stream = chunk.of(meter_.ops);
    stream.for_each_run(
        [&](std::size_t begin, std::size_t end) {
          counter_.count(stream.distances.subspan(begin, end - begin),
                         stream.blocks.subspan(begin, end - begin));
        },
        [&](const Removal& removal) { counter_.discard(removal.depth); });
  }

  std::size_t next_cut() const override { return windows_[open_].cut; }
  // Closes the windows that end before the request.
  void begin_request(std::size_t request) override {
    while (request >= windows_[open_].cut) close_window();
  }

  std::span<const RiSample> samples() const override { return samples_; }

 private:
  Intensity take(std::size_t period) override {
    while (open_ < windows_.size() && windows_[open_].ends_within(periods_[period])) {
      close_window();
    }
    if (closed_ > 0) intensity_.value = aggregate();
    intensity_.window_unique = last_unique_;
    closed_ = 0;
    sum_ = 0;
    max_ = -std::numeric_limits<double>::infinity();
    return intensity_;
  }

  void close_window() {
    assert(open_ < windows_.size());
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
  WindowCounter counter_;
  std::size_t open_ = 0;  // the current window
  std::vector<RiSample> samples_;
  // The last closed window.
  double last_ = 0;
  Count last_unique_ = 0;
  // The windows closed in this period.
  Count closed_ = 0;
  double sum_ = 0;
  double max_ = -std::numeric_limits<double>::infinity();
  // The last period in which a window closed.
  Intensity intensity_;
};

}  // namespace

TraceMeterPtr make_meter(const IntensityMeter& meter, const MeterSetup& setup, VmId vm,
                         IntensitySeries& into) {
  return std::make_unique<IntensityOfVm>(meter, setup, vm, into);
}

}  // namespace mcsim
