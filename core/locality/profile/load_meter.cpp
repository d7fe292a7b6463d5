#include "core/locality/profile/sliding_window.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// A Load that can be summed.
struct LoadSum : Load {
  void operator+=(const Load& of) { add(of, 1); }
  void operator-=(const Load& of) { add(of, -1); }

 private:
  void add(const Load& of, Count times) {
    requests += times * of.requests;
    read_requests += times * of.read_requests;
    accesses += times * of.accesses;
    reads += times * of.reads;
    for (std::size_t op = 0; op < bytes.size(); ++op) bytes[op] += times * of.bytes[op];
  }
};

class LoadOfVm final : public SeriesMeter<Load> {
 public:
  LoadOfVm(const LoadMeter& meter, const MeterSetup& setup, VmId vm, Series<Load>& into)
      : SeriesMeter(vm, into),
        trace_(setup.trace),
        counts_bytes_(meter.bytes),
        window_(setup.periods_in(meter.window)) {}

  void count(const Chunk& chunk) override {
    load_.requests += static_cast<Count>(chunk.requests.size());
    load_.accesses += static_cast<Count>(chunk.all.blocks.size());
    const std::uint8_t* const op = trace_.request_op.data();
    const std::uint64_t* const begin = trace_.request_begin.data();
    Count read_requests = 0;
    std::uint64_t reads = 0;
    for (const std::size_t r : chunk.requests) {
      if (static_cast<Op>(op[r]) != Op::kRead) continue;
      ++read_requests;
      reads += begin[r + 1] - begin[r];
    }
    load_.read_requests += read_requests;
    load_.reads += static_cast<Count>(reads);
    if (!counts_bytes_) return;
    for (const std::size_t r : chunk.requests) {
      load_.bytes[trace_.request_op[r]] += trace_.request_bytes[r];
    }
  }

 private:
  Load take(std::size_t) override { return window_.add(std::exchange(load_, {})); }

  const Accesses& trace_;
  bool counts_bytes_;
  LoadSum load_;
  SlidingSum<LoadSum> window_;
};

}  // namespace

TraceMeterPtr make_meter(const LoadMeter& meter, const MeterSetup& setup, VmId vm,
                         Series<Load>& into) {
  return std::make_unique<LoadOfVm>(meter, setup, vm, into);
}

}  // namespace mcsim
