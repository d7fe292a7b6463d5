#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/locality/distances/recent_stack.hpp"
#include "core/locality/profile/characterise.hpp"

// The interface of meters: `characterise` passes every meter the accesses of one VM. Each meter has
// its own file, <name>_meter.cpp.
namespace mcsim {

// A block that leaves the stack of a stream.
struct Removal {
  std::size_t at;  // the access before which it leaves
  std::uint32_t block;
  Count depth = kCold;  // of the block (DenseDistances::discard)
};

// Accesses of one VM in order, and their distances.
struct Stream {
  std::span<const std::uint32_t> blocks;
  std::span<const Count> distances;
  std::span<const Removal> removals;
  std::size_t first = 0;  // number of the first access, from which `at` counts on

  // Calls count(begin, end) for every run of accesses without a removal between them, and
  // remove(removal) for each removal, in order.
  template <class CountRun, class Remove>
  void for_each_run(CountRun count, Remove remove) const {
    std::size_t done = 0;
    const auto count_up_to = [&](std::size_t end) {
      if (end > done) count(done, end);
      done = end;
    };
    for (const Removal& removal : removals) {
      count_up_to(removal.at - first);
      remove(removal);
    }
    count_up_to(distances.size());
  }
};

// Requests of one VM between two cuts.
struct Chunk {
  std::span<const std::size_t> requests;
  Stream all;
  // Distances among the reads; the same as `all` if there are no writes. Under `around` each write
  // removes its block.
  Stream reads;
  Stream around;
  // By access; empty unless a meter needs them.
  std::span<const std::uint8_t> writes;          // whether it is a write
  std::span<const std::uint8_t> written_before;  // whether its block's previous access was a write

  const Stream& of(OpFilter ops) const { return ops == OpFilter::kReads ? reads : all; }
  const Stream& of(Between between) const {
    if (between == Between::kAround) return around;
    return between == Between::kReads ? reads : all;
  }
};

// Measures one VM.
class TraceMeter {
 public:
  virtual ~TraceMeter() = default;

  virtual void count(const Chunk& chunk) = 0;
  virtual void end_period(std::size_t period) = 0;

  // Returns the request before which the meter's next own cut falls.
  virtual std::size_t next_cut() const { return std::numeric_limits<std::size_t>::max(); }
  // Called before the request is counted.
  virtual void begin_request(std::size_t) {}
  // Every non-empty window so far.
  virtual std::span<const RiSample> samples() const { return {}; }
};

// Measures one value a period.
template <class T>
class SeriesMeter : public TraceMeter {
 public:
  SeriesMeter(VmId vm, Series<T>& into) : vm_(vm), into_(into) {}

  void end_period(std::size_t period) final { into_[period][vm_] = take(period); }

 protected:
  // The value of the period that ends.
  virtual T take(std::size_t period) = 0;

 private:
  VmId vm_;
  Series<T>& into_;
};

// The input that all meters of a kind share.
struct MeterSetup {
  const Accesses& trace;
  const MeterSpec& spec;
  std::span<const Piece> periods;
  std::span<const Piece> windows;  // of an IntensityMeter
  bool has_writes;                 // in the trace

  // Periods in the window of the meter.
  std::size_t periods_in(Duration window) const {
    return window.ns == 0 ? 1 : static_cast<std::size_t>(window.ns / spec.clock.period);
  }
};

// Empty series, or logs, for all VMs.
MeterValues empty_values(const MeterSetup& setup);
// The meter of a VM, which writes to `into`; null for a curve of the whole trace.
std::unique_ptr<TraceMeter> make_meter(const MeterSetup& setup, VmId vm, MeterValues& into);

// The same by kind.
using TraceMeterPtr = std::unique_ptr<TraceMeter>;
TraceMeterPtr make_meter(const CurveMeter&, const MeterSetup&, VmId, std::vector<DistanceLog>&);
TraceMeterPtr make_meter(const LoadMeter&, const MeterSetup&, VmId, Series<Load>&);
TraceMeterPtr make_meter(const DistinctMeter&, const MeterSetup&, VmId, Series<Count>&);
TraceMeterPtr make_meter(const IntensityMeter&, const MeterSetup&, VmId, IntensitySeries&);
TraceMeterPtr make_meter(const ClassMeter&, const MeterSetup&, VmId, Series<ClassCounts>&);
TraceMeterPtr make_meter(const ResponseMeter&, const MeterSetup&, VmId, Series<Responses>&);

}  // namespace mcsim
