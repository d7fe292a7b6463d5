#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// The time of a read that brings a block into a tier, and the tiers for which it matters.
struct FetchTimes {
  std::vector<bool> delays_hits;        // by tier: TierSpec::delayed_hits
  std::vector<Nanoseconds> tier_ns;     // by tier
  std::vector<Nanoseconds> backend_ns;  // by VM

  // Return the time of a read from a tier, or from the backend, which follows the tiers.
  Nanoseconds of(VmId vm, std::size_t from) const {
    return from < tier_ns.size() ? tier_ns[from] : backend_ns[vm];
  }
};

// Blocks on their way into tiers with delayed hits. A read that brings a block into such a tier
// begins a fetch, which takes as long as this read. Until the fetch ends, a read of the block from
// such a tier is a delayed hit: it waits for the remaining time (Atre et al.: Caching with Delayed
// Hits, SIGCOMM 2020). The tier from which the block comes, and slower ones, have the data, so hits
// there wait for nothing.
class Fetches {
 public:
  Fetches(FetchTimes times, std::size_t blocks) : times_(std::move(times)), fetches_(blocks) {}

  const FetchTimes& times() const { return times_; }
  bool delays_hits(std::size_t tier) const { return times_.delays_hits[tier]; }

  // Begin the fetch of a block from a tier, or from the backend.
  void begin(BlockId block, std::size_t from, Nanoseconds now, Nanoseconds takes) {
    fetches_[block] = {.began = now, .takes = takes, .from = from};
  }
  void end(BlockId block) { fetches_[block] = {}; }

  // Return the remaining time of the fetch for a read from this tier; 0 if it does not wait. A
  // fetch that begins later is of a saved state with another clock, and has ended.
  Nanoseconds rest(std::size_t tier, BlockId block, Nanoseconds now) const {
    const Fetch& fetch = fetches_[block];
    if (tier >= fetch.from || !delays_hits(tier) || now < fetch.began) return 0;
    const Nanoseconds elapsed = now - fetch.began;
    return elapsed < fetch.takes ? fetch.takes - elapsed : 0;
  }

  // Save or load the fetches that may not have ended.
  void save(ArchiveWriter& to);
  void load(ArchiveReader& from);

 private:
  // `from`: 0 if there is no fetch.
  struct Fetch {
    Nanoseconds began = 0;
    Nanoseconds takes = 0;
    std::uint64_t from = 0;
  };

  FetchTimes times_;
  Pages<Fetch> fetches_;  // by block
};

}  // namespace mcsim
