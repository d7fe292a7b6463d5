#include "core/locality/profile/sliding_window.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// 64 bits might overflow, and sliding sums in floating point would leave a remainder.
__extension__ using Wide = __int128;

struct Taken {
  Count requests = 0;
  Wide total_ns = 0;

  void operator+=(const Taken& of) { requests += of.requests, total_ns += of.total_ns; }
  void operator-=(const Taken& of) { requests -= of.requests, total_ns -= of.total_ns; }
};

class ResponsesOfVm final : public SeriesMeter<Responses> {
 public:
  ResponsesOfVm(const ResponseMeter& meter, const MeterSetup& setup, VmId vm,
                Series<Responses>& into)
      : SeriesMeter(vm, into),
        trace_(setup.trace),
        period_ns_(static_cast<double>(setup.spec.clock.period)),
        window_(setup.periods_in(meter.window)) {}

  void count(const Chunk& chunk) override {
    for (const std::size_t r : chunk.requests) {
      const Nanoseconds took = trace_.request_response[r];
      if (took >= 0) taken_ += {1, took};
    }
  }

 private:
  Responses take(std::size_t) override {
    const Taken& all = window_.add(std::exchange(taken_, {}));
    const auto total_ns = static_cast<double>(all.total_ns);
    return {.requests = all.requests,
            .mean_ns = all.requests == 0 ? 0 : total_ns / static_cast<double>(all.requests),
            .outstanding = total_ns / (period_ns_ * static_cast<double>(window_.size()))};
  }

  const Accesses& trace_;
  double period_ns_;
  Taken taken_;
  SlidingSum<Taken> window_;
};

}  // namespace

TraceMeterPtr make_meter(const ResponseMeter& meter, const MeterSetup& setup, VmId vm,
                         Series<Responses>& into) {
  return std::make_unique<ResponsesOfVm>(meter, setup, vm, into);
}

}  // namespace mcsim
