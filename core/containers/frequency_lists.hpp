#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Slots ordered by access count and, for equal counts, by time of the last access: a list of
// buckets, one per count, each a list of slots (Matani, Shah, Mitra: "An O(1) algorithm for
// implementing the LFU cache eviction scheme", 2010). A slot that is alone in its bucket, as
// popular ones are, is touched by adding 1 to the bucket's count.
//
// O(1) an operation; 36 bytes a slot.
class FrequencyLists {
 public:
  explicit FrequencyLists(std::size_t slots)
      : nodes_(slots), bucket_of_(slots), buckets_(slots + 1) {}

  std::size_t slots() const { return nodes_.size(); }
  void reserve(std::size_t slots) {
    if (slots <= nodes_.size()) return;
    nodes_.extend(slots);
    bucket_of_.extend(slots);
    buckets_.extend(slots + 1);
  }

  Count size() const { return size_; }
  std::uint64_t count(Slot slot) const { return buckets_[bucket_of_[slot]].count; }
  // The least recently used among the least frequently used slots.
  Slot least() const {
    assert(lowest_ != kNone);
    return buckets_[lowest_].oldest;
  }

  // Insert with a count of 1.
  void insert(Slot slot) {
    assert(slot < slots());
    if (lowest_ == kNone || buckets_[lowest_].count != 1) {
      const Bucket next = {
          .count = 1, .newest = kNone, .oldest = kNone, .lower = kNone, .higher = lowest_};
      lowest_ = open(next);
    }
    push(lowest_, slot);
    ++size_;
  }

  void touch(Slot slot) {
    const std::uint32_t from = bucket_of_[slot];
    Bucket& bucket = buckets_[from];
    const std::uint64_t count = bucket.count + 1;
    const std::uint32_t higher = bucket.higher;
    if (higher == kNone || buckets_[higher].count != count) {
      if (bucket.newest == bucket.oldest) {
        bucket.count = count;
        return;
      }
      open({.count = count, .newest = kNone, .oldest = kNone, .lower = from, .higher = higher});
    }
    const std::uint32_t to = buckets_[from].higher;
    take(slot);
    push(to, slot);
  }

  void erase(Slot slot) {
    assert(size_ > 0);
    take(slot);
    --size_;
  }

  void prefetch(Slot slot) const {
    prefetch_line(&nodes_[slot]);
    prefetch_line(&bucket_of_[slot]);
  }

  auto state() { return std::tie(nodes_, bucket_of_, buckets_, lowest_, free_, used_, size_); }
  std::size_t bytes() const {
    return nodes_.size() * (sizeof(Node) + sizeof(std::uint32_t)) +
           buckets_.size() * sizeof(Bucket);
  }

  absl::Status check() const {
    Count walked = 0;
    std::uint64_t last_count = 0;
    std::uint32_t lower = kNone;
    for (std::uint32_t b = lowest_; b != kNone; lower = b, b = buckets_[b].higher) {
      const Bucket& bucket = buckets_[b];
      if (bucket.lower != lower || bucket.count <= last_count || bucket.oldest == kNone) {
        return internal_error("frequencies: bucket of {} after that of {}", bucket.count,
                              last_count);
      }
      last_count = bucket.count;
      Slot newer = kNone;
      for (Slot slot = bucket.newest; slot != kNone; newer = slot, slot = nodes_[slot].older) {
        if (nodes_[slot].newer != newer || bucket_of_[slot] != b || ++walked > size_) {
          return internal_error("frequencies: the links of slot {} disagree", slot);
        }
      }
      if (bucket.oldest != newer) return internal_error("frequencies: a bucket lost its end");
    }
    if (walked == size_) return absl::OkStatus();
    return internal_error("frequencies: {} slots, not {}", walked, size_);
  }

 private:
  static constexpr std::uint32_t kNone = kNoSlot;

  struct Node {
    Slot newer;
    Slot older;
  };
  struct Bucket {
    std::uint64_t count;
    Slot newest;
    Slot oldest;
    std::uint32_t lower;
    std::uint32_t higher;  // for a free bucket: the next free one
  };

  // Insert a new bucket between its neighbours.
  std::uint32_t open(const Bucket& bucket) {
    const std::uint32_t b = free_ != kNone ? free_ : used_++;
    if (b == free_) free_ = buckets_[b].higher;
    buckets_[b] = bucket;
    if (bucket.lower != kNone) buckets_[bucket.lower].higher = b;
    if (bucket.higher != kNone) buckets_[bucket.higher].lower = b;
    return b;
  }

  void push(std::uint32_t b, Slot slot) {
    Bucket& bucket = buckets_[b];
    nodes_[slot] = {.newer = kNone, .older = bucket.newest};
    if (bucket.newest != kNone) {
      nodes_[bucket.newest].newer = slot;
    } else {
      bucket.oldest = slot;
    }
    bucket.newest = slot;
    bucket_of_[slot] = b;
  }

  // Remove the slot from its bucket, and the bucket from the list if it becomes empty.
  void take(Slot slot) {
    const std::uint32_t b = bucket_of_[slot];
    Bucket& bucket = buckets_[b];
    const auto [newer, older] = nodes_[slot];
    (newer != kNone ? nodes_[newer].older : bucket.newest) = older;
    (older != kNone ? nodes_[older].newer : bucket.oldest) = newer;
    if (bucket.newest != kNone) return;
    (bucket.lower != kNone ? buckets_[bucket.lower].higher : lowest_) = bucket.higher;
    if (bucket.higher != kNone) buckets_[bucket.higher].lower = bucket.lower;
    bucket.higher = free_;
    free_ = b;
  }

  Pages<Node> nodes_;
  Pages<std::uint32_t> bucket_of_;
  Pages<Bucket> buckets_;
  std::uint32_t lowest_ = kNone;
  std::uint32_t free_ = kNone;
  std::uint32_t used_ = 0;
  Count size_ = 0;
};

}  // namespace mcsim
