#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/bcache_host.hpp"

namespace mcsim {

// bcache of the Linux kernel with one request in flight. The cache device is the fastest tier's,
// with the capacity of all tiers. Buckets and times are those of the kernel (BcacheBuckets,
// BcacheHost). Every interval, a decision notes the use of the device.
class Bcache final : public System {
 public:
  struct Params {
    BcacheWrites writes = BcacheWrites::kThrough;
    Count bucket_kib = 512;
    Count cache_block_bytes = 512;
    Count sequential_cutoff = 4 << 20;
    Count writeback_percent = 10;
    Duration writeback_delay{30 * kSecond};
    bool sync = true;
    double rate = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"writes", &Params::writes,
                "write mode: through (writethrough, the default), around (writearound) or back "
                "(writeback); source: request.c"},
          Field{"bucket_kib", &Params::bucket_kib,
                "size of a bucket in KiB, a power of two; source: super.c", 4, 16'384},
          Field{"cache_block_bytes", &Params::cache_block_bytes,
                "size of a block of the cache device, a power of two; requests that are not "
                "multiples of it bypass the cache; source: super.c, request.c",
                512, 4096},
          Field{"sequential_cutoff", &Params::sequential_cutoff,
                "length in bytes from which a stream bypasses the cache (0: never); source: "
                "request.c",
                0},
          Field{"writeback_percent", &Params::writeback_percent,
                "target of dirty data, as a percentage of the cache (0: none, dirty blocks are "
                "written without a limit); source: writeback.c",
                0, 40},
          Field{"writeback_delay", &Params::writeback_delay,
                "pause after a batch that had all dirty blocks; source: writeback.c", 0},
          Field{"sync", &Params::sync,
                "whether writes are synchronous: they are written back up to 70 % of buckets in "
                "use, others up to 40 %; source: writeback.h"},
          Field{"rate", &Params::rate,
                "requests per second, needed for traces without times by streams and write-back "
                "(0: the times of the trace); source: request.c, writeback.c",
                0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "bcache",
      .summary = "Caches blocks in buckets of one device as bcache of Linux does.",
      .reference = "Linux 6.1.176: bcache with policy lru; bcache-tools 1.0.8"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Bcache(Params params, SystemContext context)
      : params_(std::move(params)),
        machine_(std::move(context.machine)),
        interval_(context.interval) {}

  std::vector<Timer> timers() const override {
    return {{.name = "interval", .clock = {.period = interval_}}};
  }
  Actions actions() const override { return {}; }
  ExpandOptions trace_view(ExpandOptions experiment) const override;
  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  Params params_;
  Machine machine_;
  Nanoseconds interval_;
  Count bucket_blocks_ = 1;
  const BcacheHost* host_ = nullptr;
};

}  // namespace mcsim
