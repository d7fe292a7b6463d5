#include "core/locality/profile/profile_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/base/word_reader.hpp"
#include "core/locality/profile/meter_checks.hpp"
#include "core/locality/profile/meter_plan.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kMagic = 0x31464f52504d432eULL;  // ".CMPROF1"
constexpr std::size_t kHead = 6;  // magic, version, checksum, words, kind, VMs
constexpr std::size_t kChecksumAt = 2;
// Words in a piece; checksums are chained over pieces.
constexpr std::size_t kPiece = std::size_t{1} << 17;

using Curves = std::vector<HitCurve>;

// By the kind in the head: the alternatives of MeterValues, then whole curves.
constexpr std::array<std::string_view, std::variant_size_v<MeterValues> + 1> kKinds{
    "distances, period by period,",
    "load",
    "distinct blocks",
    "reuse intensity",
    "request classes",
    "response times",
    "curves"};
constexpr std::uint64_t kCurves = kKinds.size() - 1;

// The checksum of a head without its checksum word, and of `behind`, the sum over the words after
// it.
std::uint64_t sum_of_head(std::span<const std::uint64_t> head, std::uint64_t behind) {
  const std::uint64_t before = checksum(std::as_bytes(head.first(kChecksumAt)), behind);
  return checksum(std::as_bytes(head.subspan(kChecksumAt + 1)), before);
}

std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0;
  for (auto rest = words.subspan(kHead); !rest.empty();) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    sum = checksum(std::as_bytes(piece), sum);
    advise_dont_need(piece);
    rest = rest.subspan(piece.size());
  }
  return sum_of_head(words.first(kHead), sum);
}

// --- Written -----------------------------------------------------------------------

// Writes a measurement to a file, piece by piece.
class Writer {
 public:
  explicit Writer(File file) : file_(std::move(file)) { words_.reserve(kPiece); }

  void operator()(const Curves& curves) {
    for (const HitCurve& curve : curves) {
      put(curve.accesses());
      put(curve.distances().size());
      for (const Count distance : curve.distances()) put(distance);
      for (const Count hits : curve.cumulative()) put(hits);
    }
  }
  void operator()(const std::vector<DistanceLog>& logs) {
    for (const DistanceLog& log : logs) {
      for (std::size_t period = 0; period < log.periods(); ++period) {
        put(log.accesses(period));
        for (std::size_t age = 0; age <= log.ages(); ++age) {
          const std::span<const DistanceCount> counts = log.of(period, age);
          put(counts.size());
          for (const DistanceCount& counted : counts) put(std::bit_cast<std::uint64_t>(counted));
        }
      }
    }
  }
  template <class T>
  void operator()(const Series<T>& series) {
    for (const std::vector<T>& period : series) {
      for (const T& of_vm : period) put(of_vm);
    }
  }
  void operator()(const IntensitySeries& series) {
    (*this)(series.values);
    put(series.samples.size());
    for (const RiSample& sample : series.samples) {
      put(sample.window_end), put(sample.vm), put(sample.reuse_intensity), put(sample.accesses);
    }
  }

  absl::Status finish(std::uint64_t kind, std::size_t vms) {
    flush();
    std::array<std::uint64_t, kHead> head{kMagic, kProfileVersion, 0, written_ + kHead, kind, vms};
    head[kChecksumAt] = sum_of_head(head, sum_);
    if (status_.ok()) status_ = file_.write(std::as_bytes(std::span(head)), 0);
    return status_;
  }

 private:
  template <std::integral T>
  void put(T value) {
    words_.push_back(static_cast<std::uint64_t>(value));
    if (words_.size() == kPiece) flush();
  }
  void put(VmId vm) { put(std::size_t{vm}); }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(const Load& load) {
    put(load.requests), put(load.read_requests), put(load.accesses), put(load.reads);
    for (const Count bytes : load.bytes) put(bytes);
  }
  void put(const Intensity& intensity) { put(intensity.value), put(intensity.window_unique); }
  void put(const ClassCounts& counts) {
    for (const Count count : counts.cold) put(count);
    for (const Count count : counts.again) put(count);
  }
  void put(const Responses& of) { put(of.requests), put(of.mean_ns), put(of.outstanding); }

  void flush() {
    if (words_.empty()) return;
    const auto bytes = std::as_bytes(std::span(words_));
    sum_ = checksum(bytes, sum_);
    if (status_.ok()) {
      status_ = file_.write(bytes, (kHead + written_) * sizeof(std::uint64_t));
    }
    written_ += words_.size();
    words_.clear();
  }

  File file_;
  absl::Status status_;               // of the first write that failed
  std::vector<std::uint64_t> words_;  // not written to the file yet
  std::uint64_t written_ = 0;         // words after the head
  std::uint64_t sum_ = 0;
};

// --- Read --------------------------------------------------------------------------

constexpr std::string_view kInvalidValues = "missing or invalid values";

// Reads a measurement for a trace into series of matching shape. Returns an empty text, or the
// error.
class Reader {
 public:
  Reader(WordReader words, const Accesses& trace, std::size_t periods)
      : words_(words), trace_(trace), periods_(periods), accesses_(trace.ids.size()) {}

  std::string_view operator()(Curves& curves) {
    for (const VmInfo& vm : trace_.vms) {
      const std::string_view wrong = take_curve(vm, curves);
      if (!wrong.empty()) return wrong;
    }
    return over();
  }
  std::string_view operator()(std::vector<DistanceLog>& logs) {
    for (std::size_t vm = 0; vm < logs.size(); ++vm) {
      const std::string_view wrong = take_log(trace_.vms[vm], logs[vm]);
      if (!wrong.empty()) return wrong;
    }
    return over();
  }
  template <class T>
  std::string_view operator()(Series<T>& series) {
    take_rows(series);
    return over();
  }
  std::string_view operator()(IntensitySeries& series) {
    take_rows(series.values);
    constexpr std::size_t kWords = 4;  // of a sample
    const auto samples = words_.take_up_to<std::size_t>(accesses_);
    WordReader rest(words_.take_all(samples * kWords));
    for (std::size_t i = 0; i < samples && words_.whole() && rest.whole(); ++i) {
      RiSample& sample = series.samples.emplace_back();
      sample.window_end = std::bit_cast<Nanoseconds>(rest.take());
      sample.vm = rest.take_up_to<VmId>(trace_.vms.size() - 1);
      sample.reuse_intensity = finite(rest.take());
      sample.accesses = rest.take_up_to<Count>(accesses_);
    }
    if (!rest.whole()) return kInvalidValues;
    if (!std::ranges::is_sorted(series.samples, {}, &RiSample::window_end)) {
      return "windows that are not in order";
    }
    return over();
  }

 private:
  std::string_view over() const { return words_.over() && finite_ ? "" : kInvalidValues; }

  std::string_view take_curve(const VmInfo& vm, Curves& curves) {
    const auto accesses = words_.take_up_to<Count>(accesses_);
    const auto steps = words_.take_up_to<std::size_t>(static_cast<std::size_t>(vm.unique_blocks));
    const auto distances = words_.take_all(steps);
    const auto cumulative = words_.take_all(steps);
    if (!words_.whole()) return kInvalidValues;
    DistanceHistogram histogram;
    std::uint64_t counted = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      if (i > 0 && distances[i] <= distances[i - 1]) return "distances that are not in order";
      if (distances[i] >= static_cast<std::uint64_t>(vm.unique_blocks)) return kTooFar;
      if (cumulative[i] <= counted) return "a distance that did not occur";
      histogram.distance.push_back(static_cast<Count>(distances[i]));
      histogram.count.push_back(static_cast<Count>(cumulative[i] - counted));
      counted = cumulative[i];
    }
    if (counted > static_cast<std::uint64_t>(accesses)) return kTooMany;
    histogram.cold = accesses - static_cast<Count>(counted);
    curves.emplace_back(std::move(histogram));
    return "";
  }

  std::string_view take_log(const VmInfo& vm, DistanceLog& log) {
    std::uint64_t left = accesses_;
    for (std::size_t period = 0; period < periods_; ++period) {
      const auto accesses = words_.take_up_to<Count>(left);
      left -= static_cast<std::uint64_t>(accesses);
      auto uncounted = static_cast<std::uint64_t>(accesses);
      for (std::size_t age = 0; age <= log.ages(); ++age) {
        const auto counts = words_.take_all(words_.take_as<std::size_t>());
        if (!words_.whole()) return kInvalidValues;
        for (const std::uint64_t word : counts) {
          const auto counted = std::bit_cast<DistanceCount>(word);
          if (counted.distance >= static_cast<std::uint64_t>(vm.unique_blocks)) return kTooFar;
          if (counted.count > uncounted) return kTooMany;
          uncounted -= counted.count;
          log.add(age, counted);
        }
        advise_dont_need(counts);
      }
      log.end_period(accesses);
    }
    log.shrink_to_fit();
    return "";
  }

  template <class T>
  void take_rows(Series<T>& series) {
    for (std::vector<T>& period : series) {
      for (T& of_vm : period) take(of_vm);
    }
  }
  void take(Load& load) {
    load.requests = words_.take_up_to<Count>(trace_.request_count());
    load.read_requests = words_.take_up_to<Count>(static_cast<std::uint64_t>(load.requests));
    load.accesses = words_.take_up_to<Count>(accesses_);
    load.reads = words_.take_up_to<Count>(static_cast<std::uint64_t>(load.accesses));
    for (Count& bytes : load.bytes) bytes = words_.take_as<Count>();
  }
  void take(Count& distinct) { distinct = words_.take_up_to<Count>(accesses_); }
  void take(Intensity& intensity) {
    intensity.value = finite(words_.take());
    intensity.window_unique = words_.take_as<Count>();  // perhaps estimated
  }
  void take(ClassCounts& counts) {
    for (Count& count : counts.cold) count = words_.take_up_to<Count>(accesses_);
    for (Count& count : counts.again) count = words_.take_up_to<Count>(accesses_);
  }
  void take(Responses& of) {
    of.requests = words_.take_up_to<Count>(trace_.request_count());
    of.mean_ns = finite(words_.take());
    of.outstanding = finite(words_.take());
  }

  double finite(std::uint64_t word) {
    const auto value = std::bit_cast<double>(word);
    finite_ &= std::isfinite(value);
    return value;
  }

  static constexpr std::string_view kTooFar = "a distance beyond all blocks";
  static constexpr std::string_view kTooMany = "more distances than accesses";

  WordReader words_;
  const Accesses& trace_;
  std::size_t periods_;
  std::uint64_t accesses_;
  bool finite_ = true;
};

absl::Status refuse(std::string_view name, std::string_view what) {
  return data_loss(
      "{}: not a profile of this version of mcsim ({}); remove it and mcsim will rebuild it", name,
      what);
}

// Checks that the words are undamaged and of a known kind.
absl::Status check_head(std::span<const std::uint64_t> words, std::string_view name) {
  if (words.size() < kHead || words[0] != kMagic) return refuse(name, "another kind of file");
  if (words[1] != kProfileVersion) return refuse(name, fmt::format("version {}", words[1]));
  if (words[kChecksumAt + 1] != words.size()) {
    return refuse(name, fmt::format("{} words instead of {}", words.size(), words[3]));
  }
  if (words[kChecksumAt] != sum_of(words)) return refuse(name, "a checksum does not match");
  if (words[4] >= kKinds.size()) return refuse(name, "of no known kind");
  return absl::OkStatus();
}

absl::StatusOr<Characterised> curves_in(WordReader words, const Accesses& trace,
                                        std::string_view name) {
  auto curves = std::make_shared<Curves>();
  const std::string_view wrong = Reader(words, trace, 0)(*curves);
  if (!wrong.empty()) return refuse(name, wrong);
  return Characterised{.meters = {}, .whole_curves = std::move(curves)};
}

absl::StatusOr<Characterised> measured_in(WordReader words, const Accesses& trace,
                                          std::uint64_t kind, const MeterSpec& meter,
                                          std::string_view name) {
  const auto periods = pieces(trace.request_time, meter.clock.period, meter.clock.drifting);
  auto measured = std::make_shared<MeterValues>(empty_values(
      {.trace = trace, .spec = meter, .periods = periods, .windows = {}, .has_writes = true}));
  if (measured->index() != kind) return refuse(name, fmt::format("it has {}", kKinds[kind]));
  const std::string_view wrong = std::visit(Reader(words, trace, periods.size()), *measured);
  if (!wrong.empty()) return refuse(name, wrong);
  Characterised found;
  found.meters.push_back({.spec = meter,
                          .cuts = cuts_of(periods),
                          .measured = std::move(measured),
                          .vms = trace.vms.size(),
                          .whole_curves = nullptr});
  return found;
}

absl::StatusOr<std::span<const std::uint64_t>> words_of(const Mapping& mapping,
                                                        std::string_view name) {
  const std::span<const std::byte> bytes = mapping.bytes();
  if (bytes.size() % sizeof(std::uint64_t) != 0) return refuse(name, "a part of a word");
  return std::span(reinterpret_cast<const std::uint64_t*>(bytes.data()),
                   bytes.size() / sizeof(std::uint64_t));
}

// Returns the meter with the same measurement; null if there is none.
const MeterResult* find_measured(const Characterised& found, const MeterSpec& meter) {
  const auto same = std::ranges::find(found.meters, measured_as(meter),
                                      [](const MeterResult& of) { return measured_as(of.spec); });
  return same == found.meters.end() ? nullptr : &*same;
}

}  // namespace

absl::Status write_profile(const Characterised& found, const std::optional<MeterSpec>& meter,
                           const std::string& path) {
  return guarded(path, [&]() -> absl::Status {
    const MeterResult* const of = meter ? find_measured(found, *meter) : nullptr;
    if (meter && of == nullptr) return invalid_argument("{}: this meter was not requested", path);
    MCSIM_ASSIGN_OR_RETURN(File file, File::create(path));
    Writer writer(std::move(file));
    if (of == nullptr) {
      writer(*found.whole_curves);
      return writer.finish(kCurves, found.whole_curves->size());
    }
    std::visit(writer, *of->measured);
    return writer.finish(of->measured->index(), of->vms);
  });
}

absl::StatusOr<Characterised> profile_in(std::span<const std::uint64_t> words,
                                         const Accesses& trace,
                                         const std::optional<MeterSpec>& meter,
                                         std::string_view name) {
  return guarded(name, [&]() -> absl::StatusOr<Characterised> {
    MCSIM_RETURN_IF_ERROR(check_head(words, name));
    if (words[5] != trace.vms.size()) return refuse(name, fmt::format("of {} VMs", words[5]));
    const WordReader behind(words.subspan(kHead));
    if (meter) {
      MCSIM_RETURN_IF_ERROR(check_meter(trace, *meter));
      return measured_in(behind, trace, words[4], *meter, name);
    }
    if (words[4] != kCurves) return refuse(name, fmt::format("it has {}", kKinds[words[4]]));
    return curves_in(behind, trace, name);
  });
}

absl::StatusOr<Characterised> read_profile(const Accesses& trace,
                                           const std::optional<MeterSpec>& meter,
                                           const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<Characterised> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    MCSIM_ASSIGN_OR_RETURN(const auto words, words_of(*mapping, path));
    return profile_in(words, trace, meter, path);
  });
}

absl::StatusOr<std::string> describe_profile(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<std::string> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    MCSIM_ASSIGN_OR_RETURN(const auto words, words_of(*mapping, path));
    MCSIM_RETURN_IF_ERROR(check_head(words, path));
    return fmt::format("{} of {} VM{}", kKinds[words[4]], words[5], words[5] == 1 ? "" : "s");
  });
}

}  // namespace mcsim
