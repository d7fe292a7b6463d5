#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/containers/hyperloglog.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/interning/accesses_sink.hpp"
#include "tests/support/naive.hpp"

// Meters straight from their definitions, and the traces to try them on.
namespace mcsim::naive {

struct Row {
  Nanoseconds time;
  VmId vm;
  Keys blocks;
  Op op = Op::kRead;
  Nanoseconds took = -1;
  std::uint32_t bytes = 0;
  // Blocks of VMs that are discarded before the request.
  std::vector<std::pair<VmId, std::uint64_t>> discards = {};
};

inline Accesses intern(const std::vector<Row>& rows, std::size_t vm_count) {
  Accesses trace;
  trace.keeps_responses = true;
  trace.keeps_bytes = true;
  std::vector<std::map<std::uint64_t, std::uint32_t>> number(vm_count);
  for (const Row& row : rows) {
    for (const std::uint64_t block : row.blocks) {
      number[row.vm].try_emplace(block, number[row.vm].size());
    }
  }
  BlockId first_id = 0;
  for (std::size_t vm = 0; vm < vm_count; ++vm) {
    const auto blocks = static_cast<Count>(number[vm].size());
    trace.vms.push_back({.name = "vm", .first_id = first_id, .unique_blocks = blocks});
    first_id += blocks;
  }
  for (const Row& row : rows) {
    ++trace.vms[row.vm].requests;
    trace.vms[row.vm].accesses += static_cast<Count>(row.blocks.size());
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const auto& [vm, block] : rows[r].discards) {
      const auto found = number[vm].find(block);
      if (found == number[vm].end()) continue;
      trace.discards.push_back({.request = r, .block = trace.vms[vm].first_id + found->second});
    }
  }
  AccessesSink sink(trace);
  for (const Row& row : rows) {
    for (const std::uint64_t block : row.blocks) {
      sink.push_block(trace.vms[row.vm].first_id + number[row.vm][block]);
    }
    sink.push_response(row.took);
    sink.push_bytes(row.bytes);
    sink.push_request(row.time, row.vm, static_cast<std::uint8_t>(row.op));
  }
  return std::move(sink).finish().value();
}

// A few VMs that come, go and fall silent over some periods; one in four requests writes,
// unless none has, and one in nine has no response time.
inline std::vector<Row> random_rows(Random& random, std::size_t vm_count) {
  std::vector<Row> rows;
  auto time = static_cast<Nanoseconds>(random.below(1000));
  const std::uint64_t gap = 1 + random.below(30);
  const std::uint64_t footprint = 1 + random.below(80);
  const bool writes = random.below(5) != 0;
  for (std::uint64_t r = 1 + random.below(400); r-- > 0;) {
    Row row{time,
            static_cast<VmId>(random.below(vm_count)),
            {},
            writes && random.below(4) == 0 ? Op::kWrite : Op::kRead};
    const std::uint64_t first = random.below(footprint);
    for (std::uint64_t b = 0; b < 1 + random.below(4); ++b) row.blocks.push_back(first + b);
    row.bytes = static_cast<std::uint32_t>(1 + (time * 37 + 101 * row.vm) % 70'000);
    row.took = (time + static_cast<Nanoseconds>(31 * first)) % 9 * 50 - 1;
    rows.push_back(row);
    if (random.below(3) != 0) time += static_cast<Nanoseconds>(random.below(gap));
    if (random.below(60) == 0) time += 300;
  }
  return rows;
}

// The same requests, before some of which blocks are discarded.
inline std::vector<Row> with_discards(std::vector<Row> rows, Random& random, std::size_t vm_count) {
  const std::uint64_t one_in = 1 + random.below(40);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (random.below(one_in) != 0) continue;
    for (std::uint64_t left = 1 + random.below(3); left-- > 0;) {
      // A block of an earlier request, or any.
      const Row& of = rows[random.below(r + 1)];
      const bool known = random.below(4) != 0;
      rows[r].discards.emplace_back(
          known ? of.vm : static_cast<VmId>(random.below(vm_count)),
          known ? of.blocks[random.below(of.blocks.size())] : random.below(90));
    }
  }
  return rows;
}

inline Keys keys_of(const std::vector<Row>& rows, std::size_t begin, std::size_t end, VmId vm,
                    OpFilter ops = OpFilter::kAll) {
  Keys keys;
  for (std::size_t r = begin; r < end; ++r) {
    if (rows[r].vm != vm || (ops == OpFilter::kReads && rows[r].op != Op::kRead)) continue;
    keys.insert(keys.end(), rows[r].blocks.begin(), rows[r].blocks.end());
  }
  return keys;
}

// A meter of any kind, under any parameters that go together.
inline MeterKind random_meter(Random& random, const TimerClock& clock, bool short_windows = true) {
  const auto ops = [&] { return random.below(2) == 0 ? OpFilter::kAll : OpFilter::kReads; };
  const auto between = [&] { return static_cast<Between>(random.below(3)); };
  const auto window = [&] {
    return Duration{clock.period * static_cast<Nanoseconds>(random.below(6))};
  };
  switch (random.below(8)) {
    case 0:
      return LoadMeter{.bytes = random.below(2) == 0, .window = window()};
    case 1:
      return ClassMeter{.scope = static_cast<DistanceScope>(random.below(3)), .window = window()};
    case 7:
      return ResponseMeter{.window = window()};
    case 2:
      return DistinctMeter{
          .ops = ops(), .window = window(), .reuses = static_cast<Count>(random.below(4))};
    case 3:
      return IntensityMeter{
          .kind = static_cast<IntensityKind>(random.below(2)),
          .ops = ops(),
          .window = {1 + static_cast<Nanoseconds>(random.below(short_windows ? 60 : 1200))},
          .aggregate = static_cast<RiAggregate>(random.below(3)),
          .unique = random.below(8) == 0 ? UniqueCounter::kHyperLogLog : UniqueCounter::kExact};
    default:
      break;
  }
  CurveMeter curve{
      .ops = ops(),
      .between = between(),
      .scope = static_cast<DistanceScope>(random.below(3)),
      .window = window(),
      .distance_limit = random.below(2) == 0 ? 0 : 1 + static_cast<Count>(random.below(30)),
      .foresight = static_cast<Foresight>(random.below(3))};
  if (curve.foresight == Foresight::kWhole) curve.ops = OpFilter::kAll;
  if (curve.ops == OpFilter::kAll) curve.between = Between::kAll;
  return curve;
}

inline MeterSpec random_spec(Random& random, bool short_windows = true) {
  const TimerClock clock{.period = 1 + static_cast<Nanoseconds>(random.below(900)),
                         .drifting = random.below(2) == 1};
  return {.clock = clock, .what = random_meter(random, clock, short_windows)};
}

// What meters read at the periods of one clock. `rows` and `trace`, which are the same, outlive
// it.
class Meters {
 public:
  Meters(const std::vector<Row>& rows, const Accesses& trace, const TimerClock& clock)
      : rows_(rows), trace_(trace), clock_(clock) {
    cuts_ =
        clock.drifting ? drifting_cuts(trace.request_time, clock.period) : cuts_of(clock.period);
  }

  const Cuts& cuts() const { return cuts_; }
  std::size_t periods() const { return cuts_.size() - 1; }

  // Readings of the window that ends with a period.
  HitCurve curve(const CurveMeter& meter, std::size_t period, VmId vm) const {
    const bool cumulative = meter.scope == DistanceScope::kCumulative;
    const std::size_t begin = cumulative ? 0 : begin_of_window(period, meter.window);
    const std::size_t remembered = meter.scope == DistanceScope::kInterval ? begin : 0;
    return curve_between(meter, remembered, begin, cuts_[period + 1], vm);
  }

  HitCurve whole_curve(const CurveMeter& meter, VmId vm) const {
    return curve_between(meter, 0, trace_.warm_up, rows_.size(), vm);
  }

  Load load(const LoadMeter& meter, std::size_t period, VmId vm) const {
    Load load;
    for (std::size_t r = begin_of_window(period, meter.window); r < cuts_[period + 1]; ++r) {
      if (rows_[r].vm != vm) continue;
      const auto blocks = static_cast<Count>(rows_[r].blocks.size());
      const bool reads = rows_[r].op == Op::kRead;
      ++load.requests;
      load.accesses += blocks;
      load.read_requests += reads ? 1 : 0;
      load.reads += reads ? blocks : 0;
      if (meter.bytes) load.bytes[reads ? 0 : 1] += rows_[r].bytes;
    }
    return load;
  }

  // What the last period is short of is a part of it without requests; a window that began before
  // the trace did has the periods that there were.
  Responses responses(const ResponseMeter& meter, std::size_t period, VmId vm) const {
    Nanoseconds together = 0;
    Responses found;
    for (std::size_t r = begin_of_window(period, meter.window); r < cuts_[period + 1]; ++r) {
      if (rows_[r].vm != vm || rows_[r].took == -1) continue;
      ++found.requests;
      together += rows_[r].took;
    }
    const auto ns = static_cast<double>(together);
    if (found.requests > 0) found.mean_ns = ns / static_cast<double>(found.requests);
    const auto periods = static_cast<Nanoseconds>(period + 1);
    const Nanoseconds length = std::max(meter.window.ns, clock_.period);
    found.outstanding = ns / static_cast<double>(std::min(length, periods * clock_.period));
    return found;
  }

  Count distinct(const DistinctMeter& meter, std::size_t period, VmId vm) const {
    std::map<std::uint64_t, Count> times;
    for (std::size_t r = begin_of_window(period, meter.window); r <= cuts_[period + 1]; ++r) {
      for (const auto block : discarded_before(r, vm)) times.erase(block);
      if (r == cuts_[period + 1] || !counts(r, vm, meter.ops)) continue;
      for (const auto block : rows_[r].blocks) ++times[block];
    }
    return std::ranges::count_if(times, [&](const auto& of) { return of.second > meter.reuses; });
  }

  ClassCounts classes(const ClassMeter& meter, std::size_t period, VmId vm) const {
    ClassCounts counts;
    std::map<std::uint64_t, Op> last;
    const bool cumulative = meter.scope == DistanceScope::kCumulative;
    const std::size_t begin = cumulative ? 0 : begin_of_window(period, meter.window);
    const std::size_t remembered = meter.scope == DistanceScope::kInterval ? begin : 0;
    for (std::size_t r = remembered; r < cuts_[period + 1]; ++r) {
      for (const auto block : discarded_before(r, vm)) last.erase(block);
      if (rows_[r].vm != vm) continue;
      const Op op = rows_[r].op;
      for (const auto block : rows_[r].blocks) {
        if (r < begin) {
          // Remembered, not counted.
        } else if (!last.contains(block)) {
          ++counts.cold[op == Op::kRead ? 0 : 1];
        } else {
          const bool after_read = last[block] == Op::kRead;
          const auto which = op == Op::kRead
                                 ? (after_read ? RequestClass::kRar : RequestClass::kRaw)
                                 : (after_read ? RequestClass::kWar : RequestClass::kWaw);
          ++counts.again[static_cast<std::size_t>(which)];
        }
        last[block] = op;
      }
    }
    return counts;
  }

  // By period.
  std::vector<Intensity> intensities(const IntensityMeter& meter, VmId vm) const {
    std::vector<Intensity> found;
    Intensity now;
    for (std::size_t period = 0; period < periods(); ++period) {
      std::vector<double> closed;
      for (const Window& window : windows(meter)) {
        if (window.period != period) continue;
        now.window_unique = unique_in(meter, window, vm);
        closed.push_back(intensity(meter, window, vm));
      }
      if (!closed.empty()) now.value = aggregate(meter.aggregate, closed);
      found.push_back(now);
    }
    return found;
  }

  std::vector<RiSample> samples(const IntensityMeter& meter) const {
    std::vector<RiSample> found;
    for (VmId vm = 0; vm < trace_.vms.size(); ++vm) {
      for (const Window& window : windows(meter)) {
        const Keys keys = keys_of(rows_, window.begin, window.end, vm, meter.ops);
        if (keys.empty()) continue;
        found.push_back(
            {window.time, vm, intensity(meter, window, vm), static_cast<Count>(keys.size())});
      }
    }
    std::ranges::stable_sort(found, {}, &RiSample::window_end);
    return found;
  }

 private:
  struct Window {
    std::size_t begin;
    std::size_t end;
    Nanoseconds time;    // at which it ends
    std::size_t period;  // in which it closes
  };

  // Period by period from the definition: the k-th is [t0 + k P, t0 + (k + 1) P).
  Cuts cuts_of(Nanoseconds length) const {
    if (rows_.empty()) return {0};
    Cuts cuts;
    for (Nanoseconds from = 0; from <= rows_.back().time - rows_.front().time; from += length) {
      cuts.push_back(first_at(from));
    }
    cuts.push_back(rows_.size());
    return cuts;
  }

  std::size_t first_at(Nanoseconds since_start) const {
    std::size_t r = 0;
    while (r < rows_.size() && rows_[r].time - rows_.front().time < since_start) ++r;
    return r;
  }

  std::size_t begin_of_window(std::size_t period, Duration window) const {
    const auto periods =
        std::max<std::size_t>(1, static_cast<std::size_t>(window.ns / clock_.period));
    return period + 1 < periods ? 0 : cuts_[period + 1 - periods];
  }

  Keys discarded_before(std::size_t r, VmId vm) const {
    Keys blocks;
    if (r == rows_.size()) return blocks;
    for (const auto& [of_vm, block] : rows_[r].discards) {
      if (of_vm == vm) blocks.push_back(block);
    }
    return blocks;
  }

  bool counts(std::size_t r, VmId vm, OpFilter ops) const {
    return rows_[r].vm == vm && (ops == OpFilter::kAll || rows_[r].op == Op::kRead);
  }

  // Hits of the accesses in [begin, end) in a cache that remembers those from `remembered` on.
  HitCurve curve_between(const CurveMeter& meter, std::size_t remembered, std::size_t begin,
                         std::size_t end, VmId vm) const {
    HoledStack stack;
    std::map<Count, Count> counts;
    DistanceHistogram histogram;
    for (std::size_t r = remembered; r < end; ++r) {
      for (const auto block : discarded_before(r, vm)) stack.discard(block);
      const bool reads = rows_[r].op == Op::kRead;
      if (rows_[r].vm != vm) continue;
      for (const auto block : rows_[r].blocks) {
        if (!reads && meter.between == Between::kAround) stack.discard(block);
        if (!reads && meter.between != Between::kAll) continue;
        const Count distance = stack.access(block);
        if (r < begin || (meter.ops == OpFilter::kReads && !reads)) continue;
        const bool known =
            distance >= 0 && (meter.distance_limit == 0 || distance < meter.distance_limit);
        if (known) ++counts[distance];
        histogram.cold += known ? 0 : 1;
      }
    }
    for (const auto& [distance, count] : counts) {
      histogram.distance.push_back(distance);
      histogram.count.push_back(count);
    }
    return HitCurve(histogram);
  }

  // Window by window: the w-th is [t0 + w W, t0 + (w + 1) W), and closes in the period that
  // holds its end or ends with it.
  std::vector<Window> windows(const IntensityMeter& meter) const {
    std::vector<Window> found;
    if (rows_.empty()) return found;
    const Nanoseconds length = meter.window.ns;
    const Nanoseconds start = rows_.front().time;
    const Nanoseconds last = rows_.back().time - start;
    if (clock_.drifting) {
      const Cuts cuts = drifting_cuts(trace_.request_time, length);
      for (std::size_t w = 0; w + 1 < cuts.size(); ++w) {
        std::size_t period = 0;
        while (cuts_[period + 1] < cuts[w + 1]) ++period;
        found.push_back({cuts[w], cuts[w + 1], rows_[cuts[w + 1] - 1].time, period});
      }
      return found;
    }
    for (Nanoseconds from = 0; from <= last; from += length) {
      const Nanoseconds to = std::min(from + length, last);
      const Nanoseconds period =
          from + length > last ? last / clock_.period : (to - 1) / clock_.period;
      found.push_back(
          {first_at(from), first_at(from + length), start + to, static_cast<std::size_t>(period)});
    }
    return found;
  }

  Count unique_in(const IntensityMeter& meter, const Window& window, VmId vm) const {
    HyperLogLog sketch(HyperLogLog::precision_for(0.01).value());
    std::set<std::uint64_t> seen;
    Count exact = 0;
    std::uint64_t discards = 0;
    for (std::size_t r = window.begin; r < window.end; ++r) {
      for (const auto block : discarded_before(r, vm)) discards += seen.erase(block);
      if (!counts(r, vm, meter.ops)) continue;
      for (std::size_t b = 0; b < rows_[r].blocks.size(); ++b) {
        if (!seen.insert(rows_[r].blocks[b]).second) continue;
        ++exact;
        sketch.add((discards << 32) + trace_.blocks_of(r)[b] - trace_.vms[vm].first_id);
      }
    }
    if (meter.unique == UniqueCounter::kExact || exact == 0) return exact;
    return std::llround(sketch.estimate());
  }

  double intensity(const IntensityMeter& meter, const Window& window, VmId vm) const {
    const auto accesses =
        static_cast<double>(keys_of(rows_, window.begin, window.end, vm, meter.ops).size());
    const auto distinct = static_cast<double>(unique_in(meter, window, vm));
    if (accesses == 0) return 0;
    if (meter.kind == IntensityKind::kShare) return 1 - distinct / accesses;
    return accesses / distinct / (static_cast<double>(meter.window.ns) / 1e9);
  }

  static double aggregate(RiAggregate how, const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    if (how == RiAggregate::kMean) return sum / static_cast<double>(values.size());
    return how == RiAggregate::kMax ? *std::ranges::max_element(values) : values.back();
  }

  const std::vector<Row>& rows_;
  const Accesses& trace_;
  TimerClock clock_;
  Cuts cuts_;
};

}  // namespace mcsim::naive
