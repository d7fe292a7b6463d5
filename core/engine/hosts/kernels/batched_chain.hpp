#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/hosts/kernels/kernel.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/policy/arrival.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Serve many accesses of an exclusive chain of tiers at once.
//
// In such a chain a block has one copy. If parts are independent and nothing is filtered, no tier
// depends on the state of slower ones, and no part on other parts. So all accesses of a batch to
// one part pass through its fastest cache. The misses and victims then pass, in order, through the
// next cache, and so on. Each cache sees the same events as if accesses were served one by one, but
// is called once for thousands of them.
//
//     VM ─ accesses ─▶ tier 0 ─ misses and victims ─▶ tier 1 ─▶ … ─▶ dirty tracker
//
// Writes take the same path. Through: like any other access. Around: the block is removed, wherever
// it is. Back: an access with a mark; where the block is found, an event for the dirty tracker
// continues in its place. So the dirty tracker below the last tier sees, in order, every block that
// became dirty and every block that left the chain. The tiers do not store which blocks are dirty.
//
// A tier in which a part has no space is skipped: its arrivals go to the next one.
//
// The probe receives the accesses to the chain and the events below it. Both are in the order of
// the accesses that caused them, and are matched by access number.
class BatchedChain final : public Kernel {
 public:
  // The number of accesses, or requests, in a batch: large, so that the state of each part is
  // loaded into the CPU caches only once a batch.
  static constexpr Count kBatch = 1 << 21;

  // Exclusive chains in which each tier can serve a batch without the state of slower tiers.
  static bool can_serve(const KernelSetup& setup);
  explicit BatchedChain(const KernelSetup& setup);

  bool serves(const Accesses& trace, RequestRange range) const override;
  void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
              std::span<Found> found) override;
  void attach(const Observers& observers) override { probe_ = observers.probe; }

 private:
  // Number of requests between two flushes or discards that justifies a batch.
  static constexpr std::size_t kWorthABatch = 256;

  // The number of accesses of one part that pass through its tiers together: small, so that the
  // events between tiers stay in the CPU caches.
  static constexpr std::size_t kChunk = 1 << 12;

  // Markers for parts with no VM and with several VMs.
  static constexpr std::size_t kNoVm = static_cast<std::size_t>(-1);
  static constexpr std::size_t kSeveralVms = kNoVm - 1;

  // Events of a VM that arrived at a tier.
  struct Arrived {
    std::array<Count, 2> accesses{};  // by operation: accesses whose blocks no faster tier had
    std::array<Count, 2> requests{};  // requests with such accesses
    std::array<Count, 2> bytes{};  // bytes of such accesses; for the fastest tier and the backend
    Count victims = 0;
  };
  // By tier, then the backend; the last entry stays 0.
  using ArrivedByTier = std::array<Arrived, kMaxTiers + 2>;

  // Arrivals, and the next uses of their blocks if policies need them.
  struct Buffer {
    Pages<Arrival> arrivals;
    Pages<NextUse> uses;

    void reserve(std::size_t count, bool with_uses) {
      if (arrivals.size() < count) arrivals.extend(count);
      if (with_uses && uses.size() < count) uses.extend(count);
    }
  };

  // The current batch of requests.
  struct Batch {
    const Accesses& trace;
    RequestRange range;
  };

  // Accesses of one part; their numbers are those of their requests. In the tiers they get numbers
  // of their own, which identify the access that caused a victim.
  struct Chunk {
    const Batch& batch;
    std::size_t part;
    std::span<const Arrival> dealt;
  };

  RequestRange next_batch(const Accesses& trace, RequestRange rest) const;
  void serve(const Batch& batch);
  void deal(const Batch& batch);
  Arrival::Kind kind_of(VmId vm, Op op) const;
  void serve_chunk(const Chunk& chunk, const NextUse* uses);
  std::span<const Arrival> number(std::span<const Arrival> dealt);
  void count_arrivals(const Chunk& chunk, std::size_t tier, std::span<const Arrival> arrivals);
  void count_arrival(const Chunk& chunk, Arrival arrival, std::size_t tier, Arrived& arrived);
  void track_dirty(std::span<const Arrival> arrivals);
  void report(const Chunk& chunk, std::span<const Arrival> accesses, const Arrival* left) const;
  void find_open_tiers();
  void add(std::size_t vm, VmCounters& of, Found& found) const;
  static void add_requests(const ArrivedByTier& arrived, std::size_t backend, bool around,
                           VmCounters& of);
  static Count bytes_of(const Chunk& chunk, Arrival arrival);
  static void add_victims(Count victims, bool leave, TierCounters& of);
  void add_writes(std::size_t vm, VmCounters& of) const;
  bool needs_next_use() const { return next_uses_.size() > 0; }
  std::size_t backend() const { return tiers_.size(); }

  std::span<Tier> tiers_;
  std::span<const std::size_t> part_of_;
  const BlockOwners& owners_;
  const VmAdmission& admission_;
  DirtyTracker& dirty_;
  const Pages<NextUse>& next_uses_;
  Pages<NextUse>& next_use_of_;
  std::vector<std::size_t> only_vm_;    // by part
  std::vector<ArrivedByTier> arrived_;  // by VM

  std::vector<Count> write_backs_;  // by VM, in one replay
  // By part: the tiers in which it has space, fastest first.
  std::vector<std::vector<std::size_t>> open_tiers_;

  CacheProbe* probe_ = nullptr;

  // Of the batch: accesses in the fastest tier, part after part, and by part, their end. Of the
  // chunk: accesses with their own numbers, the arrivals at the current tier and at the one below.
  // By request: the slowest tier so far that had one of its blocks.
  Buffer dealt_;
  std::vector<std::size_t> dealt_end_;
  Pages<Arrival> numbered_;
  Buffer here_;
  Buffer below_;
  std::vector<std::uint8_t> slowest_;
};

}  // namespace mcsim
