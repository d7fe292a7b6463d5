#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/model/cache_dump.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/hosts/dm_cache_dump.hpp"
#include "policies/hosts/smq.hpp"

namespace mcsim {

enum class DmCachePolicy : std::uint8_t { kSmq, kCleaner };

template <>
struct Choices<DmCachePolicy> {
  static constexpr std::array names{std::pair{"smq", DmCachePolicy::kSmq},
                                    std::pair{"mq", DmCachePolicy::kSmq},
                                    std::pair{"cleaner", DmCachePolicy::kCleaner}};
};

enum class DmCacheWrites : std::uint8_t { kThrough, kBack, kPassthrough };

template <>
struct Choices<DmCacheWrites> {
  static constexpr std::array names{std::pair{"through", DmCacheWrites::kThrough},
                                    std::pair{"back", DmCacheWrites::kBack},
                                    std::pair{"passthrough", DmCacheWrites::kPassthrough}};
};

struct DmCacheSetup {
  Count capacity = 0;  // of the cache device, in blocks of the trace
  std::uint64_t origin_bytes = 0;
  DmCachePolicy policy = DmCachePolicy::kSmq;
  DmCacheWrites writes = DmCacheWrites::kThrough;
  Count migration_threshold = 0;  // bytes
  Jiffies hz = 100;
  Nanoseconds created = 0;  // since the boot of the kernel
  Nanoseconds first = 0;    // the first request, likewise
  double rate = 0;          // requests per second; 0: those of the trace
  Count phases = 1;         // number of phases over a second, from `first` on
  std::shared_ptr<const CacheDump> dump = nullptr;  // of an earlier cache, to start from
};

// dm-cache: one cache device in front of the devices of all VMs, which are one origin. Cache blocks
// are lines of the trace, and promotions, demotions and write-backs copy whole lines. A request
// that spans several lines is served line by line.
//
// The VM waits for the origin at misses, and at writes unless the mode is back. A promoted line is
// copied from the origin after the request that missed it: a read of the backend and a fill of the
// tier, in addition to the request itself. Written blocks make their whole line dirty.
//
// Discards change nothing, as in the kernel: the line stays. The lines of a departed VM are written
// back if they are dirty, and dropped.
//
// A cache that starts from a dump has lines that the trace does not access. They count as lines of
// the only VM.
class DmCacheHost final : public Host {
 public:
  // Fails if the origin is smaller than the trace. Without addresses in the trace, the blocks of a
  // VM are adjacent in the order of their ids.
  static absl::StatusOr<std::unique_ptr<DmCacheHost>> make(const DmCacheSetup& setup,
                                                           const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId>) override {}
  std::vector<VmCounters> counters() const override { return counters_; }
  absl::Status check_invariants() const override;

  // The least and the most accesses that hit so far, at all phases.
  std::pair<Count, Count> range_of_hits() const;

 private:
  // The cache at another phase, of which only the hits count.
  struct Replica {
    Smq smq;
    Nanoseconds first;
    Count hits = 0;
  };
  struct Geometry {
    std::vector<std::uint32_t> region_of;  // by line
    std::size_t regions = 0;
    std::size_t region_lines = 1;
    DumpedLines dumped = {};

    void number_regions(const Accesses& trace, std::span<const std::uint64_t> number);
  };
  class Changes;

  DmCacheHost(const DmCacheSetup& setup, const Accesses& trace, Geometry geometry);
  static absl::StatusOr<Geometry> geometry_of(const DmCacheSetup& setup, const Accesses& trace);

  Jiffies now(Nanoseconds since_first);
  static bool covers(const Accesses& trace, std::size_t request, std::size_t begin,
                     std::size_t end);
  SmqOutcome request(Op op, std::uint32_t line, Nanoseconds since_first, bool whole,
                     std::size_t blocks);
  // Count the blocks of a request in a line. Return whether the VM waited for the backend.
  bool count(VmId vm, Op op, std::span<const BlockId> blocks, SmqOutcome outcome);
  void load(std::span<const SmqMapping> mappings);
  void log(Op op, std::span<const BlockId> blocks);
  void log_line(Op op, std::uint32_t line);
  VmCounters& owner(std::uint32_t line) {
    if (line >= region_of_.size()) return counters_.front();
    return counters_[owners_.vm_of(static_cast<BlockId>(line * line_blocks_))];
  }

  DmCacheSetup setup_;
  std::uint32_t line_blocks_;
  BlockOwners owners_;
  std::vector<std::uint32_t> region_of_;  // by line
  Smq smq_;
  std::vector<Replica> replicas_;
  // The jiffy of the last request, and the time at which the next one begins.
  Jiffies jiffy_ = 0;
  Nanoseconds jiffy_end_ = 0;
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace mcsim
