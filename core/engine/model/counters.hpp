#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"

namespace mcsim {

class ArchiveWriter;
class ArchiveReader;

inline constexpr std::size_t kMaxTiers = 8;

// Counts of one VM in one tier, in blocks. A write covers whole blocks and reads nothing.
struct TierCounters {
  Count hits = 0;        // accesses for which this is the fastest tier with the block
  Count write_hits = 0;  // hits that write; a write around that drops the block is a miss
  // Inserted blocks; each is one write to the device. A tier without space is bypassed: nothing is
  // inserted or written.
  Count fills = 0;       // from outside: after a read from the backend, or by a write
  Count promotions = 0;  // from a slower tier
  Count demotions = 0;   // from a faster tier
  Count updates = 0;     // writes to blocks already in this tier
  Count transfers = 0;   // from another host
  // Removed blocks.
  Count moved_up = 0;       // to a faster tier
  Count moved_down = 0;     // victims that a slower tier holds now
  Count evictions = 0;      // victims that no other tier received
  Count invalidations = 0;  // written around, discarded, dropped with another copy or with the VM
  // Blocks read from the device to be written elsewhere: demotions, write-backs (victims, flushes,
  // the dirty limit, new write modes, released VMs), extents and migrations. Reads of the VM count
  // in Served. A clean victim is not copied if a slower tier has a copy. If several copies have the
  // newest data, the slowest one is read.
  Count copied_out = 0;
  Count remote_reads = 0;     // reads served from another host, over the link
  Count remote_requests = 0;  // read requests with their slowest block served over the link
  // Blocks that this tier prefetched (PrefetchHost); they are also fills and backend reads.
  Count prefetched = 0;
  Count prefetch_used = 0;    // of these: first accessed by a read, while a tier held them
  Count prefetch_wasted = 0;  // of these: left all tiers, or were overwritten, before a read
  Count prefetch_unread = 0;  // of these: held and not yet accessed at the end
  Count occupancy = 0;        // blocks held at the end
  Count target = 0;           // target at the end; the capacity if the tier is not divided

  // Totals add up over time; levels are values at the end.
  static constexpr std::array kTotals{std::pair{"hits", &TierCounters::hits},
                                      std::pair{"write_hits", &TierCounters::write_hits},
                                      std::pair{"fills", &TierCounters::fills},
                                      std::pair{"promotions", &TierCounters::promotions},
                                      std::pair{"demotions", &TierCounters::demotions},
                                      std::pair{"updates", &TierCounters::updates},
                                      std::pair{"transfers", &TierCounters::transfers},
                                      std::pair{"moved_up", &TierCounters::moved_up},
                                      std::pair{"moved_down", &TierCounters::moved_down},
                                      std::pair{"evictions", &TierCounters::evictions},
                                      std::pair{"invalidations", &TierCounters::invalidations},
                                      std::pair{"copied_out", &TierCounters::copied_out},
                                      std::pair{"remote_reads", &TierCounters::remote_reads},
                                      std::pair{"remote_requests", &TierCounters::remote_requests},
                                      std::pair{"prefetched", &TierCounters::prefetched},
                                      std::pair{"prefetch_used", &TierCounters::prefetch_used},
                                      std::pair{"prefetch_wasted", &TierCounters::prefetch_wasted}};
  static constexpr std::array kLevels{std::pair{"prefetch_unread", &TierCounters::prefetch_unread},
                                      std::pair{"occupancy", &TierCounters::occupancy},
                                      std::pair{"target", &TierCounters::target}};

  friend bool operator==(const TierCounters&, const TierCounters&) = default;

  // Writes to the tier's device.
  Count device_writes() const { return fills + promotions + demotions + updates + transfers; }
};

// Blocks and requests served by each tier and by the backend (the last entry in use). Data served
// by a staging area is not included, and neither are delayed hits. A read is served by the fastest
// holder of the block, a write by the device that the VM waited for. A request is served by the
// slowest device that any of its blocks waited for.
struct Served {
  std::array<Count, kMaxTiers + 1> blocks{};
  std::array<Count, kMaxTiers + 1> requests{};

  friend bool operator==(const Served&, const Served&) = default;
};

struct VmCounters {
  Count requests = 0;         // requests with at least one block
  Count request_hits = 0;     // requests with only hit or staged blocks
  Count bytes = 0;            // bytes of requests, if the trace has them
  Count byte_hits = 0;        // bytes in hit or staged blocks
  Count accesses = 0;         // blocks of requests
  Count misses = 0;           // accesses to blocks in no tier and no staging area
  Count writes = 0;           // accesses that write
  Count write_misses = 0;     // misses that write, including writes around that dropped the block
  Count staged_hits = 0;      // reads of blocks only in a staging area in memory: not misses
  Count staged_requests = 0;  // requests with only such blocks
  Count staged_ns = 0;        // total time of these hits
  Count backend_reads = 0;    // read misses, prefetched blocks, and extents that move to a tier
  Count backend_writes = 0;   // writes for which the VM waits for the backend, and write-backs
  Count write_backs = 0;      // backend writes of dirty blocks
  Count dirtied = 0;          // clean blocks that became dirty
  Count discarded_dirty = 0;  // dirty blocks that were discarded and not written back
  Count dirty = 0;            // dirty blocks at the end (newer than in the backend)
  Count sent = 0;             // blocks that are to follow the VM from its old host
  Count transferred = 0;      // sent blocks that came over in the background
  Count on_demand = 0;        // sent blocks that came over when they were read
  Count left_behind = 0;      // sent, but never came: out of date, evicted or read from the backend
  Count on_the_way = 0;       // sent blocks still to come at the end
  Count host = 0;             // the host of the VM at the end
  // Reads of blocks that are still on their way into a tier (Fetches): neither hits nor misses.
  Count delayed_hits = 0;
  Count delayed_ns = 0;        // total time that they waited
  Count delayed_requests = 0;  // requests that waited longest for such a block
  Count request_delay_ns = 0;  // total time that these waited
  Served reads_served;
  Served writes_served;
  std::vector<TierCounters> tiers;

  static constexpr std::array kTotals{std::pair{"requests", &VmCounters::requests},
                                      std::pair{"request_hits", &VmCounters::request_hits},
                                      std::pair{"bytes", &VmCounters::bytes},
                                      std::pair{"byte_hits", &VmCounters::byte_hits},
                                      std::pair{"accesses", &VmCounters::accesses},
                                      std::pair{"misses", &VmCounters::misses},
                                      std::pair{"writes", &VmCounters::writes},
                                      std::pair{"write_misses", &VmCounters::write_misses},
                                      std::pair{"staged_hits", &VmCounters::staged_hits},
                                      std::pair{"staged_requests", &VmCounters::staged_requests},
                                      std::pair{"staged_ns", &VmCounters::staged_ns},
                                      std::pair{"backend_reads", &VmCounters::backend_reads},
                                      std::pair{"backend_writes", &VmCounters::backend_writes},
                                      std::pair{"write_backs", &VmCounters::write_backs},
                                      std::pair{"dirtied", &VmCounters::dirtied},
                                      std::pair{"discarded_dirty", &VmCounters::discarded_dirty},
                                      std::pair{"sent", &VmCounters::sent},
                                      std::pair{"transferred", &VmCounters::transferred},
                                      std::pair{"on_demand", &VmCounters::on_demand},
                                      std::pair{"left_behind", &VmCounters::left_behind},
                                      std::pair{"delayed_hits", &VmCounters::delayed_hits},
                                      std::pair{"delayed_ns", &VmCounters::delayed_ns},
                                      std::pair{"delayed_requests", &VmCounters::delayed_requests},
                                      std::pair{"request_delay_ns", &VmCounters::request_delay_ns}};
  static constexpr std::array kLevels{std::pair{"dirty", &VmCounters::dirty},
                                      std::pair{"on_the_way", &VmCounters::on_the_way},
                                      std::pair{"host", &VmCounters::host}};

  friend bool operator==(const VmCounters&, const VmCounters&) = default;

  const Served& served(Op op) const { return op == Op::kRead ? reads_served : writes_served; }
  Served& served(Op op) { return op == Op::kRead ? reads_served : writes_served; }

  void save(ArchiveWriter& to);
  void load(ArchiveReader& from);

  // Totals since `before`; levels as they are now.
  VmCounters since(const VmCounters& before) const;
};

// Check the conservation laws of one VM's counters from `before` to `now`:
// - hits, including staged hits, + delayed hits + misses = accesses; all blocks and requests served
// were requested;
// - every block inserted into a tier is still there, moved or left;
// - every prefetched block was used, was wasted or is unread;
// - every block that became dirty is dirty, was written back or discarded;
// - every block sent after the VM came once, stayed behind or is still to come.
absl::Status check_conservation(const VmCounters& before, const VmCounters& now);

}  // namespace mcsim
