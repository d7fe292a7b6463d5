#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/policy/arrival.hpp"
#include "core/engine/run/counters.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"
#include "core/engine/tiers/tier.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// How an exclusive chain of tiers serves many accesses at once.
//
// In such a chain a block has one copy, and if parts keep to their own space and nothing is
// filtered, no tier needs to know what a slower one did, and no part what another does. So
// what a batch of requests has for a part goes through its fastest cache, what that misses
// and evicts, in order, through the next, and so on: each cache sees what it would see if
// accesses were served one by one, and is asked once for thousands of them.
//
//     VM ─ accesses ─▶ tier 0 ─ take what I missed, here are my victims ─▶ tier 1 ─▶ … ─▶ book
//
// Writes go the same way. Through: an access like any other. Around: the block is to be taken
// out, wherever it is. Back: an access that says so; where the block is found, a note of it goes
// on down in its place. Below the last tier the book then hears in order of every block that
// became dirty and of every one that left the chain: no tier knows what is dirty.
//
// A tier in which a part has no space is skipped: what arrives there goes on to the next one.
//
// The probe gets what came to the chain and what it left behind: both are in the order of the
// accesses that caused them, and are matched by the numbers of these accesses.
class BatchedChain {
 public:
  // Accesses, or requests, that are dealt to parts together: the state of each part comes
  // into the processor's own caches but once a batch.
  static constexpr Count kBatch = 1 << 21;

  // `part_of`: by VM. `next_uses` of all accesses and, by tier and block, of what the tiers
  // hold, are empty unless some policy must know the future. All of it outlives the chain.
  BatchedChain(std::span<Tier> tiers, std::span<const std::size_t> part_of,
               const BlockOwners& owners, DirtyTracker& book, const Pages<NextUse>& next_uses,
               Pages<NextUse>& next_use_of);

  // Replays requests and adds what they did to the counters of every VM but for hits and
  // misses, which are added to `found`: by VM and operation, accesses by the tier that had
  // the block. Writes must not update blocks where they are when they are written around.
  using Found = std::array<std::array<Count, kMaxTiers + 1>, 2>;
  void replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
              std::span<Found> found);

  void attach(CacheProbe& probe) { probe_ = &probe; }

 private:
  // Dealt accesses that go through a part's tiers together: what one tier leaves to the
  // next stays in the processor's own caches.
  static constexpr std::size_t kStretch = 1 << 12;

  // Instead of the VM that has a part for itself.
  static constexpr std::size_t kNoVm = static_cast<std::size_t>(-1);
  static constexpr std::size_t kSeveralVms = kNoVm - 1;

  // What of a VM came to a tier.
  struct Arrived {
    std::array<Count, 2> accesses{};  // by operation, that no faster tier had the block of
    std::array<Count, 2> requests{};  // with such accesses
    std::array<Count, 2> bytes{};     // of such accesses; for the fastest tier and the backend
    Count victims = 0;
  };
  // The same by tier; then at the backend, and what is behind that: nothing.
  using ArrivedByTier = std::array<Arrived, kMaxTiers + 2>;

  // Arrivals, and if they must be known the next uses of their blocks.
  struct Buffer {
    Pages<Arrival> arrivals;
    Pages<NextUse> uses;

    void reserve(std::size_t count, bool with_uses) {
      if (arrivals.size() < count) arrivals.extend(count);
      if (with_uses && uses.size() < count) uses.extend(count);
    }
  };

  // The batch of requests that is being served.
  struct Batch {
    const Accesses& trace;
    RequestRange range;
  };

  // Accesses of a part, as they were dealt: with the numbers of their requests. On their way
  // down they have their own, so that it is known of which one of a request a victim is.
  struct Stretch {
    const Batch& batch;
    std::size_t part;
    std::span<const Arrival> dealt;
  };

  RequestRange next_batch(const Accesses& trace, RequestRange rest) const;
  void serve(const Batch& batch);
  void deal(const Batch& batch);
  Arrival::Kind kind_of(VmId vm, Op op) const;
  void serve_stretch(const Stretch& stretch, const NextUse* uses);
  std::span<const Arrival> number(std::span<const Arrival> dealt);
  void count_arrivals(const Stretch& stretch, std::size_t tier, std::span<const Arrival> arrivals);
  void count_arrival(const Stretch& stretch, Arrival arrival, std::size_t tier, Arrived& arrived);
  void keep_book(std::span<const Arrival> arrivals);
  void report(const Stretch& stretch, std::span<const Arrival> accesses, const Arrival* left) const;
  void find_open_tiers();
  void add(std::size_t vm, VmCounters& of, Found& found) const;
  static void add_requests(const ArrivedByTier& arrived, std::size_t backend, bool around,
                           VmCounters& of);
  static Count bytes_of(const Stretch& stretch, Arrival arrival);
  static void add_victims(Count victims, bool leave, TierCounters& of);
  void add_writes(std::size_t vm, VmCounters& of) const;
  bool knows_future() const { return next_uses_.size() > 0; }
  std::size_t backend() const { return tiers_.size(); }

  std::span<Tier> tiers_;
  std::span<const std::size_t> part_of_;
  const BlockOwners& owners_;
  DirtyTracker& dirty_;
  const Pages<NextUse>& next_uses_;
  Pages<NextUse>& next_use_of_;
  std::vector<std::size_t> only_vm_;    // by part
  std::vector<ArrivedByTier> arrived_;  // by VM

  std::vector<Count> write_backs_;  // by VM, in one replay
  // By part, the tiers in which it has space, fastest first.
  std::vector<std::vector<std::size_t>> open_tiers_;

  CacheProbe* probe_ = nullptr;

  // Of a batch: what is to be done in the fastest tier, part after part, and where that of
  // each part ends; of a stretch, with its own numbers; in the tier that comes next, and in
  // the one below; and of each request, the slowest tier that had a block of it so far.
  Buffer dealt_;
  std::vector<std::size_t> dealt_end_;
  Pages<Arrival> numbered_;
  Buffer here_;
  Buffer below_;
  std::vector<std::uint8_t> slowest_;
};

}  // namespace mcsim
