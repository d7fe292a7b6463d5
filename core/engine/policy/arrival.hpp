#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/types.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// An event that reaches one tier of an exclusive chain from the tier above, or the fastest tier
// from the VM, packed into one word. Each is caused by an access of a batch.
class Arrival {
 public:
  enum Kind : std::uint64_t {
    kAccess,  // an access to the block, which is inserted on a miss
    kTake,    // remove the block if it is held: it is promoted or out of date
    kVictim,  // a victim of a faster tier, to be inserted
    kWritten  // the block became dirty in a tier above: for the dirty tracker below all tiers
  };

  // `number`: that of the access or request that caused the event, less than 2^28. `dirties`: the
  // access writes only to the cache.
  Arrival(BlockId block, std::size_t number, Kind kind, Op op = Op::kRead, bool dirties = false)
      : word_(block | kind << kKindAt | static_cast<std::uint64_t>(op) << kOpAt |
              static_cast<std::uint64_t>(dirties) << kDirtiesAt |
              static_cast<std::uint64_t>(number) << kNumberAt) {}

  BlockId block() const { return static_cast<BlockId>(word_); }
  Kind kind() const { return static_cast<Kind>(word_ >> kKindAt & 3); }
  Op op() const { return static_cast<Op>(word_ >> kOpAt & 1); }
  bool dirties() const { return (word_ >> kDirtiesAt & 1) != 0; }
  std::size_t number() const { return word_ >> kNumberAt; }

  // The event for the tier below if an access missed here.
  Arrival taken() const { return with(kTake); }
  // The event for the tier below if an access hit here and dirtied the block.
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

// Next uses of blocks, for chains with a policy that needs the future.
struct ArrivalUses {
  const NextUse* of_arrivals;
  NextUse* of_blocks;  // by block held in this cache; victims pass it on
  NextUse* of_next;    // of the arrivals at the cache below
};

}  // namespace mcsim
