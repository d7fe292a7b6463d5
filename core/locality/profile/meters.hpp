#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/profile/reuse_intensity.hpp"
#include "core/trace/accesses.hpp"

// Meters: measurements of a trace for controllers. They depend only on the trace, not on any cache,
// so each is measured once and shared by all systems that request it. Every VM is measured
// separately. Lengths are in the trace's own time: a trace without a clock is cut by the number of
// references.
namespace mcsim {

// When meters are read: at the end of every period from the trace's first request on.
struct TimerClock {
  Nanoseconds period = 3600 * kSecond;
  bool drifting = false;  // by drifting_cuts, not aligned_cuts
  friend bool operator==(const TimerClock&, const TimerClock&) = default;
};

// The accesses that a curve counts, and the accesses before them that can make them hit.
enum class DistanceScope : std::uint8_t {
  kInterval,    // counts the window; a block's first access in the window is cold (Multi-Cache)
  kCumulative,  // counts all accesses so far (the Multi-Cache authors' code)
  kWarm,        // counts the window; earlier accesses to a block are remembered
};

// The accesses that take up space in the cache of a curve.
enum class Between : std::uint8_t {
  kAll,
  kReads,   // reads, as if writes were not there
  kAround,  // reads; a write drops its block, as WriteMode::kAround does
};

// How far a meter looks ahead. Controllers of running systems cannot; reference systems such as
// `clairvoyant` do.
enum class Foresight : std::uint8_t {
  kNone,
  kNext,   // the period that begins
  kWhole,  // all of the trace after its warm-up
};

enum class RiAggregate : std::uint8_t { kLast, kMean, kMax };

enum class IntensityKind : std::uint8_t {
  kShare,      // 1 - unique / accesses (Multi-Cache)
  kPerSecond,  // accesses to each distinct block a second (vCacheShare)
};

template <>
struct Choices<DistanceScope> {
  static constexpr std::array names{std::pair{"interval", DistanceScope::kInterval},
                                    std::pair{"cumulative", DistanceScope::kCumulative},
                                    std::pair{"warm", DistanceScope::kWarm}};
};
template <>
struct Choices<Between> {
  static constexpr std::array names{std::pair{"all", Between::kAll},
                                    std::pair{"reads", Between::kReads},
                                    std::pair{"around", Between::kAround}};
};
template <>
struct Choices<Foresight> {
  static constexpr std::array names{std::pair{"none", Foresight::kNone},
                                    std::pair{"next", Foresight::kNext},
                                    std::pair{"whole", Foresight::kWhole}};
};
template <>
struct Choices<RiAggregate> {
  static constexpr std::array names{std::pair{"last", RiAggregate::kLast},
                                    std::pair{"mean", RiAggregate::kMean},
                                    std::pair{"max", RiAggregate::kMax}};
};
template <>
struct Choices<IntensityKind> {
  static constexpr std::array names{std::pair{"share", IntensityKind::kShare},
                                    std::pair{"per-second", IntensityKind::kPerSecond}};
};

inline constexpr const char* kWindowText =
    "so long before each reading, a whole number of periods (0: one)";

// Hits of an LRU cache of any size. A discarded block leaves the caches of every size.
struct CurveMeter {
  OpFilter ops = OpFilter::kAll;
  Between between = Between::kAll;
  DistanceScope scope = DistanceScope::kInterval;
  Duration window{};
  Count distance_limit = 0;
  Foresight foresight = Foresight::kNone;

  static constexpr ComponentInfo kInfo{.name = "curve",
                                       .summary = "Hits of an LRU cache of any size.",
                                       .reference =
                                           "Mattson et al., IBM Systems Journal 9(2), 1970; of "
                                           "reads: Ahmadian et al., POMACS 2(1), 2018"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"ops", &CurveMeter::ops,
              "whose hits are counted: those of reads are useful distances, RAR and RAW "
              "(ECI-Cache)"},
        Field{"between", &CurveMeter::between,
              "what takes up space: all accesses, reads as if writes were not there, or reads of a "
              "cache that writes go around, so that each drops its block"},
        Field{"scope", &CurveMeter::scope, "what an access finds in the cache"},
        Field{"window", &CurveMeter::window,
              "of the accesses that are counted: so long before each reading, a whole number of "
              "periods (0: one)",
              0},
        Field{"distance_limit", &CurveMeter::distance_limit,
              "distances from here on count as misses (0: no limit)", 0},
        Field{"foresight", &CurveMeter::foresight,
              "how far it looks ahead: not at all, to the next interval, or over the whole trace"},
    };
  }
  friend bool operator==(const CurveMeter&, const CurveMeter&) = default;
};

// Numbers of requests, accesses and bytes. With `bytes` the interned trace keeps requests' lengths.
struct LoadMeter {
  bool bytes = false;
  Duration window{};

  static constexpr ComponentInfo kInfo{
      .name = "load",
      .summary = "Requests and accesses, and bytes of requests, reads and writes apart.",
      .reference = "no publication: counts of the trace"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"bytes", &LoadMeter::bytes,
              "whether to count the recorded bytes of requests; needs a trace with lengths"},
        Field{"window", &LoadMeter::window, kWindowText, 0},
    };
  }
  friend bool operator==(const LoadMeter&, const LoadMeter&) = default;
};

// The working set: blocks accessed in a sliding window and not discarded since then, or those that
// were also reused at least `reuses` times (RWSS of CloudCache).
struct DistinctMeter {
  OpFilter ops = OpFilter::kAll;
  Duration window{};
  Count reuses = 0;

  static constexpr ComponentInfo kInfo{
      .name = "distinct",
      .summary = "Blocks accessed in a sliding window, or of these those that were reused.",
      .reference =
          "Denning, CACM 11(5), 1968; reused ones: Arteaga et al. (CloudCache), FAST 2016"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"ops", &DistinctMeter::ops, "what counts as an access"},
        Field{"window", &DistinctMeter::window, kWindowText, 0},
        Field{"reuses", &DistinctMeter::reuses,
              "blocks that were accessed once and then so many times again, or more", 0},
    };
  }
  friend bool operator==(const DistinctMeter&, const DistinctMeter&) = default;
};

// Reuse intensity. A window belongs to the period in which it closes, including one that ends with
// the period. Windows and periods start at the trace's first request, and the end of the trace
// closes the last ones. If no window closes in a period, the intensity does not change. A block
// that is accessed again after a discard counts as another distinct block.
struct IntensityMeter {
  IntensityKind kind = IntensityKind::kShare;
  OpFilter ops = OpFilter::kAll;
  Duration window{60 * kSecond};
  RiAggregate aggregate = RiAggregate::kLast;
  UniqueCounter unique = UniqueCounter::kExact;

  static constexpr ComponentInfo kInfo{
      .name = "intensity",
      .summary = "Reuse intensity, window by window.",
      .reference =
          "Multi-Cache (IC2E 2016); per second: Meng et al. (vCacheShare), USENIX ATC 2014"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"kind", &IntensityMeter::kind, "share of repeats, or accesses a block and second"},
        Field{"ops", &IntensityMeter::ops, "what counts as an access"},
        Field{"window", &IntensityMeter::window, "length of a window", 1},
        Field{"aggregate", &IntensityMeter::aggregate,
              "how the windows of a period become one figure"},
        Field{"unique", &IntensityMeter::unique, "how distinct blocks are counted"},
    };
  }
  friend bool operator==(const IntensityMeter&, const IntensityMeter&) = default;
};

// Accesses by operation and by the operation of the previous access to their block. Accesses
// without a remembered previous access, and the first ones after a discard, are cold.
struct ClassMeter {
  DistanceScope scope = DistanceScope::kInterval;
  Duration window{};

  static constexpr ComponentInfo kInfo{
      .name = "classes",
      .summary = "Accesses by what they do after what the last one to their block did.",
      .reference = "Ahmadian et al. (ECI-Cache), POMACS 2(1), 2018"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"scope", &ClassMeter::scope,
              "which accesses are counted, and what is remembered: interval forgets what came "
              "before the window, warm does not, cumulative counts all so far"},
        Field{"window", &ClassMeter::window,
              "of the accesses that are counted: so long before each reading, a whole number of "
              "periods (0: one)",
              0},
    };
  }
  friend bool operator==(const ClassMeter&, const ClassMeter&) = default;
};

// Mean recorded response time of requests, and the mean number of requests in progress. The
// interned trace must keep response times.
struct ResponseMeter {
  Duration window{};

  static constexpr ComponentInfo kInfo{
      .name = "responses",
      .summary = "Mean response time and requests under way, of a trace with response times.",
      .reference =
          "Little: A proof for the queuing formula L = λW, Operations Research 9(3), 1961"};
  static constexpr auto fields() {
    return std::tuple{Field{"window", &ResponseMeter::window, kWindowText, 0}};
  }
  friend bool operator==(const ResponseMeter&, const ResponseMeter&) = default;
};

using MeterKind =
    std::variant<CurveMeter, LoadMeter, DistinctMeter, IntensityMeter, ClassMeter, ResponseMeter>;

struct MeterSpec {
  TimerClock clock;
  MeterKind what;
  friend bool operator==(const MeterSpec&, const MeterSpec&) = default;
};

// Returns a meter by its name in Python, and the name of a meter.
absl::StatusOr<MeterKind> meter_named(std::string_view name, const ParamMap& params);
const char* name_of(const MeterKind& meter);
// Returns all meters and their parameters.
std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>> describe_meters();
ParamMap params_of(const MeterKind& meter);

// The values of meters other than curves, for one VM.
struct Load {
  Count requests = 0;
  Count read_requests = 0;  // of these
  Count accesses = 0;
  Count reads = 0;               // of these
  std::array<Count, 2> bytes{};  // of requests, by operation; 0 unless requested

  Count write_requests() const { return requests - read_requests; }
  Count writes() const { return accesses - reads; }
  friend bool operator==(const Load&, const Load&) = default;
};

struct Intensity {
  double value = 0;         // the aggregate over the windows of this period
  Count window_unique = 0;  // distinct blocks in the last closed window
  friend bool operator==(const Intensity&, const Intensity&) = default;
};

// The class of an access after another to its block: read after read, read after write, write after
// read, write after write.
enum class RequestClass : std::uint8_t { kRar, kRaw, kWar, kWaw };

struct ClassCounts {
  std::array<Count, 2> cold{};   // by operation
  std::array<Count, 4> again{};  // by RequestClass

  Count of(RequestClass which) const { return again[static_cast<std::size_t>(which)]; }
  // Accesses that were not the first to their block.
  Count reuses() const { return again[0] + again[1] + again[2] + again[3]; }
  Count accesses() const { return cold[0] + cold[1] + reuses(); }
  friend bool operator==(const ClassCounts&, const ClassCounts&) = default;
};

struct Responses {
  Count requests = 0;  // with a response time
  double mean_ns = 0;  // of these; 0 if there are none
  // Mean number in progress: the sum of response times over the length of the periods.
  double outstanding = 0;
  friend bool operator==(const Responses&, const Responses&) = default;
};

}  // namespace mcsim
