#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/types.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// What comes to one tier of an exclusive chain from the one above, or to the fastest from
// the VM, because of some access of a batch: in one word.
class Arrival {
 public:
  enum Kind : std::uint64_t {
    kAccess,  // to the block, which comes in unless it is held
    kTake,    // of the block, which is wanted above or out of date: leaves, if it is held
    kVictim,  // of a faster tier: the block comes in
    kWritten  // the block became dirty above: of interest to who keeps book below all tiers
  };

  // `number`: of what it is because of, less than 2^28. `dirties`: it is written into the cache
  // alone.
  Arrival(BlockId block, std::size_t number, Kind kind, Op op = Op::kRead, bool dirties = false)
      : word_(block | kind << kKindAt | static_cast<std::uint64_t>(op) << kOpAt |
              static_cast<std::uint64_t>(dirties) << kDirtiesAt |
              static_cast<std::uint64_t>(number) << kNumberAt) {}

  BlockId block() const { return static_cast<BlockId>(word_); }
  Kind kind() const { return static_cast<Kind>(word_ >> kKindAt & 3); }
  Op op() const { return static_cast<Op>(word_ >> kOpAt & 1); }
  bool dirties() const { return (word_ >> kDirtiesAt & 1) != 0; }
  std::size_t number() const { return word_ >> kNumberAt; }

  // Of an access that did not find its block here: what comes to the tier below.
  Arrival taken() const { return with(kTake); }
  // Of an access that found it, and dirties it.
  Arrival written() const { return with(kWritten); }
  Arrival numbered(std::size_t number) const {
    Arrival arrival = *this;
    arrival.word_ = (word_ & ((std::uint64_t{1} << kNumberAt) - 1)) |
                    static_cast<std::uint64_t>(number) << kNumberAt;
    return arrival;
  }

 private:
  static constexpr unsigned kKindAt = 32;
  static constexpr unsigned kOpAt = 34;
  static constexpr unsigned kDirtiesAt = 35;
  static constexpr unsigned kNumberAt = 36;

  Arrival with(Kind kind) const {
    Arrival arrival = *this;
    arrival.word_ = (word_ & ~(std::uint64_t{3} << kKindAt)) | kind << kKindAt;
    return arrival;
  }

  std::uint64_t word_;
};

// When the blocks of arrivals are accessed next, for caches that must know the future.
struct ArrivalUses {
  const NextUse* of_arrivals;
  NextUse* of_blocks;  // by block, while the cache holds it: victims take it along
  NextUse* of_next;    // of the arrivals at the cache below
};

}  // namespace mcsim
