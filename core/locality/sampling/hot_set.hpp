#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcsim {

// The most referenced blocks of a stream, found in one pass, each with a time.
//
// One reference in 64 is inspected, at random intervals, because loops would defeat a fixed stride.
// Buckets of eight candidates count the inspected references. A new candidate replaces the one with
// the lowest count of a full bucket and inherits its count (Space-Saving of Metwally, Agrawal, El
// Abbadi, ICDT 2005, by bucket). A block counted kEnough times beyond the inherited count is hot
// and stays hot, while there is room. This does not depend on which blocks are sampled, so counting
// a hot block fully from then on adds no bias.
//
// Blocks are identified by one-to-one hashes. O(1), no allocation after construction; 48 bytes a
// block.
class HotSet {
 public:
  // Reserves room for `max_blocks` hot blocks; 0 turns the set off.
  explicit HotSet(std::size_t max_blocks)
      : max_blocks_(max_blocks),
        slots_(max_blocks == 0 ? 0 : std::bit_ceil(2 * max_blocks)),
        buckets_(slots_.size() / 2 / kWays) {}

  bool enabled() const { return max_blocks_ > 0; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    return slots_.size() * sizeof(Slot) + buckets_.size() * sizeof(Bucket);
  }

  void clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    std::fill(buckets_.begin(), buckets_.end(), Bucket{});
    size_ = 0;
    until_next_ = random_ = 0;
  }

  // Returns the time of a hot block, null for other blocks.
  std::uint32_t* find(std::uint64_t hash) {
    Slot& slot = slots_[slot_of(hash)];
    return slot.used ? &slot.time : nullptr;
  }

  // Processes a reference to a block that is not hot; it may become hot.
  void consider(std::uint64_t hash, std::uint32_t time) {
    if (until_next_ > 0) {
      --until_next_;
      return;
    }
    random_ = random_ * 6364136223846793005 + 1;  // only the upper bits are used
    until_next_ = random_ >> 57;
    if (size_ < max_blocks_ && count(hash)) {
      slots_[slot_of(hash)] = {hash, time, true};
      ++size_;
    }
  }

  template <class Renumber>
  void renumber_times(Renumber renumber) {
    for (Slot& slot : slots_) {
      if (slot.used) slot.time = renumber(slot.time);
    }
  }

 private:
  static constexpr std::uint32_t kEnough = 4;
  static constexpr std::size_t kWays = 8;

  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t time = 0;
    bool used = false;
  };
  struct Candidate {
    std::uint64_t hash = 0;
    std::uint32_t count = 0;
    std::uint32_t taken_over = 0;
  };
  using Bucket = std::array<Candidate, kWays>;

  // Returns the index of the hash, or the free slot for it.
  std::size_t slot_of(std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].used && slots_[at].hash != hash) at = (at + 1) & mask;
    return at;
  }

  // Counts an inspected reference; returns true if the block becomes hot.
  bool count(std::uint64_t hash) {
    Bucket& bucket = buckets_[(hash >> 24) % buckets_.size()];
    auto found = std::find_if(bucket.begin(), bucket.end(),
                              [&](const Candidate& c) { return c.count > 0 && c.hash == hash; });
    if (found == bucket.end()) {
      found = std::min_element(
          bucket.begin(), bucket.end(),
          [](const Candidate& a, const Candidate& b) { return a.count < b.count; });
      *found = {hash, found->count, found->count};
    }
    ++found->count;
    if (found->count - found->taken_over < kEnough) return false;
    *found = {};
    return true;
  }

  std::size_t max_blocks_;
  std::vector<Slot> slots_;
  std::vector<Bucket> buckets_;
  std::size_t size_ = 0;
  std::uint64_t until_next_ = 0;  // references until the next inspected one
  std::uint64_t random_ = 0;
};

}  // namespace mcsim
