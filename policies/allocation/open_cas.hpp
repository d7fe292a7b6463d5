#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/kernel_time.hpp"
#include "policies/hosts/open_cas_host.hpp"

namespace mcsim {

// Open CAS with one queue and one request in flight. The cache device is the fastest tier's, with
// the capacity of all tiers. Lines and times are those of OCF (OpenCas, OpenCasHost).
class OpenCasSystem final : public System {
 public:
  struct Params {
    OpenCasWrites writes = OpenCasWrites::kThrough;
    Count line_kib = 4;
    OpenCasPromotion promotion = OpenCasPromotion::kAlways;
    Count nhit_threshold = 3;
    Count nhit_trigger = 80;
    OpenCasCutoff cutoff = OpenCasCutoff::kFull;
    Count cutoff_kib = 1024;
    OpenCasCleaning cleaning = OpenCasCleaning::kAlru;
    Duration wake_up{20 * kSecond};
    Duration staleness{120 * kSecond};
    Count flush_lines = 100;
    Duration idle{10 * kSecond};
    Count dirty_ratio = 100;
    Count dirty_inertia_mib = 128;
    bool metadata = true;
    Duration phase{0};
    double rate = 0;

    // A list, over a screen since each field has its description.
    static constexpr auto fields() {
      return std::tuple{
          Field{"writes", &Params::writes,
                "write mode: through (the default), back, around, only (reads insert nothing) or "
                "pass (all requests pass by the cache); source: src/engine"},
          Field{"line_kib", &Params::line_kib,
                "size of a cache line in KiB: 4, 8, 16, 32 or 64; source: inc/ocf_def.h", 4, 64},
          Field{"promotion", &Params::promotion,
                "which requests insert lines: always, or nhit, those of lines that were often "
                "requested; source: src/promotion"},
          Field{"nhit_threshold", &Params::nhit_threshold,
                "requests of a line from which nhit inserts it; source: inc/promotion/nhit.h", 2,
                1000},
          Field{"nhit_trigger", &Params::nhit_trigger,
                "percentage of occupied lines from which nhit refuses requests; source: "
                "inc/promotion/nhit.h",
                0, 100},
          Field{"cutoff", &Params::cutoff,
                "when streams pass by the cache: full (if 512 lines or less are free), always or "
                "never; source: src/ocf_seq_cutoff.c"},
          Field{"cutoff_kib", &Params::cutoff_kib,
                "length in KiB from which a stream passes by the cache; source: 1 MiB of casadm", 1,
                4'194'181},
          Field{"cleaning", &Params::cleaning,
                "cleaning policy: alru or nop; source: src/cleaning"},
          Field{"wake_up", &Params::wake_up,
                "time between wake-ups of alru, in whole seconds; source: inc/cleaning/alru.h",
                kSecond, 3600 * kSecond},
          Field{"staleness", &Params::staleness,
                "time since the last write after which alru writes a line back, in whole seconds; "
                "source: inc/cleaning/alru.h",
                kSecond, 3600 * kSecond},
          Field{"flush_lines", &Params::flush_lines,
                "lines that alru writes back at once; source: inc/cleaning/alru.h", 1, 10'000},
          Field{"idle", &Params::idle,
                "time without requests after which alru may start; source: inc/cleaning/alru.h", 0,
                1000 * kSecond},
          Field{"dirty_ratio", &Params::dirty_ratio,
                "percentage of dirty lines from which alru starts at once (100: never); source: "
                "inc/cleaning/alru.h",
                0, 100},
          Field{"dirty_inertia_mib", &Params::dirty_inertia_mib,
                "MiB below dirty_ratio at which alru stops; source: inc/cleaning/alru.h", 0, 4095},
          Field{"metadata", &Params::metadata,
                "whether metadata take 35 MiB and about 1 % of the device; source: "
                "src/metadata/metadata.c"},
          Field{"phase", &Params::phase,
                "time from the start of the cache, when alru wakes up first, to the first "
                "request; source: src/cleaning/alru.c",
                0, kLongestStart},
          Field{"rate", &Params::rate,
                "requests per second, needed for traces without times by alru with dirty lines "
                "(0: the times of the trace); source: src/cleaning/alru.c",
                0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "open-cas",
      .summary = "Caches lines of one device as Open CAS does.",
      .reference = "Open CAS Framework (OCF) b8b4b704, June 2026, after v26.03.1"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  OpenCasSystem(Params params, SystemContext context)
      : params_(std::move(params)), machine_(std::move(context.machine)) {}

  std::vector<Timer> timers() const override { return {}; }
  Actions actions() const override { return {}; }
  ExpandOptions trace_view(ExpandOptions experiment) const override;
  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation&) override {
    return std::nullopt;
  }

 private:
  OpenCasSetup setup_of(Count lines) const;

  Params params_;
  Machine machine_;
};

}  // namespace mcsim
