#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcsim {

// The most referenced blocks of a stream, found while it passes, each with a time.
//
// One reference in 64 is looked at, at random, since loops would meet any fixed
// stride. Buckets of eight candidates count them; one that finds its bucket full
// takes the place of the least and its count with it (Space-Saving of Metwally,
// Agrawal, El Abbadi, ICDT 2005, by buckets). Who was counted kEnough times
// beyond what it took over is hot and stays so, while there is room. None of this
// depends on which blocks are sampled: a hot block may be counted fully from then
// on without a bias.
//
// Blocks are known by hashes that are one to one. O(1), nothing is allocated
// after construction; 48 bytes a block.
class HotSet {
 public:
  // Room for `max_blocks` hot blocks; 0 for none.
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

  // The time of a hot block; null of any other.
  std::uint32_t* find(std::uint64_t hash) {
    Slot& slot = slots_[slot_of(hash)];
    return slot.used ? &slot.time : nullptr;
  }

  // A reference to a block that is not hot; it may be from now on.
  void consider(std::uint64_t hash, std::uint32_t time) {
    if (until_next_ > 0) {
      --until_next_;
      return;
    }
    random_ = random_ * 6364136223846793005 + 1;  // the upper bits will do
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

  // Where the hash is, or the free slot it would take.
  std::size_t slot_of(std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].used && slots_[at].hash != hash) at = (at + 1) & mask;
    return at;
  }

  // Whether that was enough.
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
  std::uint64_t until_next_ = 0;  // references not looked at
  std::uint64_t random_ = 0;
};

}  // namespace mcsim
