#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"

namespace mcsim {

inline constexpr std::size_t kMaxTiers = 8;

// Counts of one VM in one tier, in blocks. A write covers whole blocks and reads nothing.
struct TierCounters {
  Count hits = 0;        // accesses whose block this tier is the fastest to hold
  Count write_hits = 0;  // hits that write; a write around that drops the block is a miss
  // Blocks that came in, each one write to the device. A tier without room is bypassed: nothing
  // comes in, nothing is written.
  Count fills = 0;       // from outside: after a read from the backend, or by a write
  Count promotions = 0;  // from a slower tier
  Count demotions = 0;   // from a faster tier
  Count updates = 0;     // writes to blocks that were here
  Count transfers = 0;   // came over from another host, and were written here
  // Blocks that left.
  Count moved_up = 0;       // to a faster tier
  Count moved_down = 0;     // a victim, which a slower tier holds now
  Count evictions = 0;      // a victim, to no other tier
  Count invalidations = 0;  // written around, discarded, dropped with another copy or with the VM
  // Blocks read from the device to be written elsewhere: demotions, write-backs (victims, flushes,
  // the dirty limit, new write modes, released VMs), extents and migrations. Reads of the VM count
  // in Served. A clean victim whose copy a slower tier has is not copied. If several copies have
  // the newest data, the slowest is read.
  Count copied_out = 0;
  Count remote_reads = 0;     // reads served over the link, from another host
  Count remote_requests = 0;  // read requests whose slowest block came over the link
  Count occupancy = 0;        // held at the end
  Count target = 0;           // granted at the end; the capacity where nothing is divided

  // What adds up over time, and what is as it is at the end.
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
                                      std::pair{"remote_requests", &TierCounters::remote_requests}};
  static constexpr std::array kLevels{std::pair{"occupancy", &TierCounters::occupancy},
                                      std::pair{"target", &TierCounters::target}};

  friend bool operator==(const TierCounters&, const TierCounters&) = default;

  // Writes to the tier's device.
  Count device_writes() const { return fills + promotions + demotions + updates + transfers; }
};

// How many blocks and requests were served by each tier, and by the backend (the
// last entry in use); what a staging area served is not among them. A read is served by what had
// the block; a write by what the VM had to wait for. A request is served by the slowest that any of
// its blocks waited for.
struct Served {
  std::array<Count, kMaxTiers + 1> blocks{};
  std::array<Count, kMaxTiers + 1> requests{};

  friend bool operator==(const Served&, const Served&) = default;
};

struct VmCounters {
  Count requests = 0;         // with blocks
  Count request_hits = 0;     // of which all blocks were hits, or staged
  Count bytes = 0;            // of requests, if the trace keeps them
  Count byte_hits = 0;        // bytes in blocks that were hits, or staged
  Count accesses = 0;         // blocks of requests
  Count misses = 0;           // accesses whose block no tier and no staging area held
  Count writes = 0;           // accesses that write
  Count write_misses = 0;     // misses that write; a write around that dropped its block, too
  Count staged_hits = 0;      // reads of what no tier had, but a staging area in memory: no misses
  Count staged_requests = 0;  // requests of which every block was one of these
  Count staged_ns = 0;        // that these hits took together
  Count backend_reads = 0;    // read misses, and extents that move to a tier
  Count backend_writes = 0;   // writes that the VM waits for the backend with, and write-backs
  Count write_backs = 0;      // of the backend's writes: dirty blocks
  Count dirtied = 0;          // clean blocks that became dirty
  Count discarded_dirty = 0;  // dirty blocks that were discarded, and not written back
  Count dirty = 0;            // blocks at the end that the backend does not have
  Count sent = 0;             // blocks that were to follow it from the host that it left
  Count transferred = 0;      // of them: came over in the background
  Count on_demand = 0;        // of them: came over because they were read
  Count left_behind = 0;      // of them: never came; out of date, evicted or read from the backend
  Count on_the_way = 0;       // of them: neither, at the end
  Count host = 0;             // where it is at the end
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
                                      std::pair{"left_behind", &VmCounters::left_behind}};
  static constexpr std::array kLevels{std::pair{"dirty", &VmCounters::dirty},
                                      std::pair{"on_the_way", &VmCounters::on_the_way},
                                      std::pair{"host", &VmCounters::host}};

  friend bool operator==(const VmCounters&, const VmCounters&) = default;

  const Served& served(Op op) const { return op == Op::kRead ? reads_served : writes_served; }
  Served& served(Op op) { return op == Op::kRead ? reads_served : writes_served; }

  // Counts since `before`; levels as they are now.
  VmCounters since(const VmCounters& before) const;
};

// The laws of the counters of one VM, from `before` to `now`: hits, those of staged data among
// them, + misses = accesses; all that is served was asked for; every block that came into a tier is
// still there, moved on or left; every block that became dirty is, was written back or discarded;
// every block that a host sent after the VM came once, stayed behind or is on the way.
absl::Status check_conservation(const VmCounters& before, const VmCounters& now);

}  // namespace mcsim
