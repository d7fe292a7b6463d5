#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/zfs_arc_host.hpp"

namespace mcsim {

// The ARC of OpenZFS, in memory, with one request in flight. The capacity of all tiers is the most
// that it holds: its target size and the overflow above it. Their fastest device stands for memory
// (ZfsArc, ZfsArcHost).
class ZfsArcSystem final : public System {
 public:
  struct Params {
    Count record_kib = 128;
    Count overflow_kib = 16'384;
    bool buffers = true;
    Count buffer_shift = 5;
    Count metadata_bytes = 0;
    Count other_bytes = 0;
    Count hz = 250;
    double rate = 0;

    static constexpr auto fields() {
      constexpr double kMostKib = 16'384;
      constexpr double kMostBytes = 1e15;
      return std::tuple{
          Field{"record_kib", &Params::record_kib,
                "size of all records in KiB, a power of two: recordsize of a dataset or "
                "volblocksize of a volume; source: include/sys/fs/zfs.h",
                1, kMostKib},
          Field{
              "overflow_kib", &Params::overflow_kib,
              "KiB of the capacity above the target size of the ARC; eviction starts when they are "
              "full: zfs_max_recordsize; source: module/zfs/arc.c",
              0, kMostBytes / 1024},
          Field{"buffers", &Params::buffers,
                "whether the cache of buffers is in front of the ARC; source: module/zfs/dbuf.c"},
          Field{"buffer_shift", &Params::buffer_shift,
                "its size is that of the ARC, shifted right by this: dbuf_cache_shift; source: "
                "module/zfs/dbuf.c",
                1, 31},
          Field{"metadata_bytes", &Params::metadata_bytes,
                "bytes of the ARC with buffers of metadata, which are never evicted here; source: "
                "metadata_size of arcstats",
                0, kMostBytes},
          Field{"other_bytes", &Params::other_bytes,
                "bytes of the ARC with other structures of metadata; source: dnode_size, dbuf_size "
                "and bonus_size of arcstats",
                0, kMostBytes},
          Field{"hz", &Params::hz,
                "ticks of the kernel's clock per second, of which 1/16 must pass before a hit "
                "promotes; source: CONFIG_HZ",
                24, 1200},
          Field{"rate", &Params::rate,
                "requests per second, needed for traces without times (0: the times of the "
                "trace); source: module/zfs/arc.c",
                0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "zfs-arc",
      .summary = "Caches records in memory as the ARC of OpenZFS does.",
      .reference = "OpenZFS 2.4.99 (be7657e3, August 2026)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  ZfsArcSystem(Params params, SystemContext context)
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
