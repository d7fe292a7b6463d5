#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/dm_cache_host.hpp"
#include "policies/hosts/kernel_time.hpp"

namespace mcsim {

// dm-cache of the Linux kernel, which LVM calls lvmcache, with one request in flight. The cache
// device is the fastest tier's, with the capacity of all tiers. Blocks and times are those of the
// kernel (Smq, DmCacheHost).
class DmCache final : public System {
 public:
  struct Params {
    DmCachePolicy policy = DmCachePolicy::kSmq;
    DmCacheWrites writes = DmCacheWrites::kThrough;
    Count block_kib = 32;
    double origin_gib = 0;
    Count migration_threshold = 2048;
    Count hz = 100;
    Duration created{1'005'000'000};
    Duration phase{998'000'000};
    double rate = 0;
    Count phases = 1;

    static constexpr double kMostKib = 1 << 20;
    static constexpr double kMostGib = 1e9;
    static constexpr double kMostSectors = 1e12;

    static constexpr auto fields() {
      return std::tuple{
          Field{"policy", &Params::policy,
                "smq or its alias mq, or cleaner, which promotes nothing; source: "
                "dm-cache-policy-smq.c"},
          Field{"writes", &Params::writes,
                "write mode: through (writethrough, the default of LVM), back (writeback), or "
                "passthrough, which promotes nothing; source: dm-cache-target.c"},
          Field{"block_kib", &Params::block_kib,
                "size of a cache block in KiB, a multiple of 32; source: dm-cache-target.c", 32,
                kMostKib},
          Field{"origin_gib", &Params::origin_gib,
                "size of the origin in GiB (0: up to the last cache block that the trace "
                "accesses); small origins have small regions; source: dm-cache-policy-smq.c",
                0, kMostGib},
          Field{"migration_threshold", &Params::migration_threshold,
                "maximum number of sectors in migration while an idle cache writes dirty blocks "
                "back; source: dm-cache-target.c",
                0, kMostSectors},
          Field{"hz", &Params::hz,
                "ticks of the kernel's clock per second; source: CONFIG_HZ, 250 in most kernels "
                "for servers",
                24, 1200},
          Field{"created", &Params::created,
                "time from the boot of the kernel to the creation of the cache, in phase with the "
                "waker; source: dm-cache-target.c",
                0, kLongestStart},
          Field{"phase", &Params::phase,
                "time from the creation of the cache to the first request; it changes hits by up "
                "to 20 %; source: dm-cache-policy-smq.c",
                0, kLongestStart},
          Field{"rate", &Params::rate,
                "requests per second, needed for traces without times (0: the times of the "
                "trace); hits depend on it; source: dm-cache-policy-smq.c",
                0},
          Field{"phases", &Params::phases,
                "number of phases over a second, from `phase` on, at which the trace is replayed; "
                "results are those of the first, and the note of a decision has the range of "
                "hits; source: dm-cache-policy-smq.c",
                1, 256}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "dm-cache",
      .summary = "Caches hot blocks on one device as dm-cache (lvmcache) of Linux does.",
      .reference = "Linux 6.1.176: dm-cache 2.3.0 with policies smq 2.0.0 and cleaner"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  DmCache(Params params, SystemContext context)
      : params_(std::move(params)),
        machine_(std::move(context.machine)),
        interval_(context.interval) {}

  std::vector<Timer> timers() const override {
    if (params_.phases == 1) return {};
    return {{.name = "interval", .clock = {.period = interval_}}};
  }
  Actions actions() const override { return {}; }
  absl::Status use_cache_dump(std::shared_ptr<const CacheDump> dump) override {
    dump_ = std::move(dump);
    return absl::OkStatus();
  }
  ExpandOptions trace_view(ExpandOptions experiment) const override;
  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  Params params_;
  Machine machine_;
  Nanoseconds interval_;
  std::shared_ptr<const CacheDump> dump_;
  const DmCacheHost* host_ = nullptr;
};

}  // namespace mcsim
