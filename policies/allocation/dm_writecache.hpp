#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/kernel_time.hpp"
#include "policies/hosts/writecache_host.hpp"

namespace mcsim {

// dm-writecache of the Linux kernel on an SSD, with one request in flight. The cache device is the
// fastest tier's, with the capacity of all tiers. Blocks are those of the trace, times those of the
// kernel (Writecache, WritecacheHost).
class DmWritecache final : public System {
 public:
  struct Params {
    Count high_watermark = 50;
    Count low_watermark = 45;
    Count autocommit_blocks = 65'536;
    Duration autocommit_time{kSecond};
    Duration pause_writeback{3 * kSecond};
    Duration max_age{0};
    Count hz = 100;
    Duration created{1'005'000'000};
    Duration phase{998'000'000};
    double rate = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"high_watermark", &Params::high_watermark,
                "percentage of used blocks at which write-back starts; source: dm-writecache.c", 0,
                100},
          Field{"low_watermark", &Params::low_watermark,
                "percentage of used blocks below which write-back stops; source: dm-writecache.c",
                0, 100},
          Field{"autocommit_blocks", &Params::autocommit_blocks,
                "written blocks after which all are committed; source: dm-writecache.c", 1},
          Field{"autocommit_time", &Params::autocommit_time,
                "time after the first write until all written blocks are committed; source: "
                "dm-writecache.c",
                1},
          Field{"pause_writeback", &Params::pause_writeback,
                "time without writes around the cache after which write-back goes on; source: "
                "dm-writecache.c",
                0},
          Field{"max_age", &Params::max_age,
                "time after which a block is written back (0: never); source: dm-writecache.c", 0},
          Field{"hz", &Params::hz,
                "ticks of the kernel's clock per second, to which its timers are rounded; source: "
                "CONFIG_HZ, 250 in most kernels for servers",
                24, 1200},
          Field{"created", &Params::created,
                "time from the boot of the kernel to the creation of the cache, from which "
                "`max_age` is checked; source: dm-writecache.c",
                0, kLongestStart},
          Field{"phase", &Params::phase,
                "time from the creation of the cache to the first request; source: dm-writecache.c",
                0, kLongestStart},
          Field{"rate", &Params::rate,
                "requests per second, needed for traces without times by commits (0: the times of "
                "the trace); source: dm-writecache.c",
                0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "dm-writecache",
      .summary = "Caches writes on one device as dm-writecache of Linux does.",
      .reference = "Linux 6.1.176: dm-writecache 1.6.0 on an SSD"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  DmWritecache(Params params, SystemContext context)
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
  Params params_;
  Machine machine_;
};

}  // namespace mcsim
