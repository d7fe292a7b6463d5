#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Slots ordered by integer keys, the least first, and among equal keys the one that got its key
// first. Keys must not be below the key of the last least(), the floor. Keys close to the floor are
// in a ring of buckets. Larger keys are in one list, which is distributed to the ring when the
// floor approaches (Dial: "Algorithm 360: Shortest-path forest with topological ordering", 1969).
//
// O(1) an operation, amortised, if keys rise by O(1) an operation; 18 to 20 bytes a
// slot.
class MonotoneQueue {
 public:
  explicit MonotoneQueue(std::size_t slots)
      : ring_(std::bit_ceil(std::max<std::size_t>(64, slots / 8))), nodes_(roots() + slots) {
    horizon_ = ring_;
    for (std::uint32_t root = 0; root < roots(); ++root) {
      nodes_[root] = {.newer = root, .older = root, .key = 0};
    }
  }

  std::size_t slots() const { return nodes_.size() - roots(); }
  void reserve(std::size_t slots) {
    if (slots > this->slots()) nodes_.extend(roots() + slots);
  }

  Count size() const { return near_ + far_; }
  std::uint64_t key(Slot slot) const { return nodes_[index(slot)].key; }

  void insert(Slot slot, std::uint64_t key) {
    assert(slot < slots() && key >= floor_);
    link(index(slot), key);
  }
  void erase(Slot slot) { unlink(index(slot)); }
  void update(Slot slot, std::uint64_t key) {
    erase(slot);
    insert(slot, key);
  }

  // The queue must not be empty.
  Slot least() {
    assert(size() > 0);
    if (near_ == 0) {
      std::uint64_t least = ~std::uint64_t{0};
      for (std::uint32_t at = nodes_[far()].newer; at != far(); at = nodes_[at].newer) {
        least = std::min(least, nodes_[at].key);
      }
      raise_floor(least);
    }
    while (nodes_[bucket(floor_)].newer == bucket(floor_)) raise_floor(floor_ + 1);
    return static_cast<Slot>(nodes_[bucket(floor_)].newer - roots());
  }

  void prefetch(Slot slot) const { prefetch_line(&nodes_[index(slot)]); }
  void save(ArchiveWriter& to) { to(ring_, nodes_, floor_, horizon_, near_, far_); }
  void load(ArchiveReader& from) {
    const std::size_t slots = this->slots();
    nodes_ = {};  // the saved ring may be shorter or longer
    from(ring_, nodes_, floor_, horizon_, near_, far_);
    if (!from.ok()) return;
    if (!std::has_single_bit(ring_) || nodes_.size() <= ring_) {
      return from.fail(data_loss("{} buckets in {} nodes", ring_, nodes_.size()));
    }
    reserve(slots);
  }
  std::size_t bytes() const { return nodes_.size() * sizeof(Node); }

  absl::Status check() const {
    Count walked[2] = {0, 0};
    for (std::uint32_t root = 0; root < roots(); ++root) {
      std::uint32_t at = root;
      do {
        const std::uint32_t next = nodes_[at].newer;
        if (nodes_[next].older != at) return internal_error("queue: links at {} disagree", at);
        at = next;
        if (at == root) break;
        const std::uint64_t key = nodes_[at].key;
        if (at < roots() || key < floor_ || list_of(key) != root) {
          return internal_error("queue: key {} in list {}, from {} on", key, root, floor_);
        }
        if (++walked[root == far()] > size()) return internal_error("queue: a list has no end");
      } while (true);
    }
    if (walked[0] == near_ && walked[1] == far_) return absl::OkStatus();
    return internal_error("queue: {} and {} slots, not {} and {}", walked[0], walked[1], near_,
                          far_);
  }

 private:
  // A node in the circular list of its bucket; the root lies between the newest and the oldest.
  // Roots come first in the array: those of the buckets and that of the far list.
  struct Node {
    std::uint32_t newer;
    std::uint32_t older;
    std::uint64_t key;
  };

  std::uint32_t roots() const { return far() + 1; }
  std::uint32_t far() const { return static_cast<std::uint32_t>(ring_); }
  std::uint32_t index(Slot slot) const { return slot + roots(); }
  std::uint32_t bucket(std::uint64_t key) const {
    return static_cast<std::uint32_t>(key & (ring_ - 1));
  }
  std::uint32_t list_of(std::uint64_t key) const { return key < horizon_ ? bucket(key) : far(); }

  void link(std::uint32_t at, std::uint64_t key) {
    const std::uint32_t root = list_of(key);
    ++(root == far() ? far_ : near_);
    const std::uint32_t newest = nodes_[root].older;
    nodes_[at] = {.newer = root, .older = newest, .key = key};
    nodes_[newest].newer = at;
    nodes_[root].older = at;
  }
  void unlink(std::uint32_t at) {
    --(nodes_[at].key < horizon_ ? near_ : far_);
    take(at);
  }
  void take(std::uint32_t at) {
    const auto [newer, older, key] = nodes_[at];
    nodes_[newer].older = older;
    nodes_[older].newer = newer;
  }

  // The horizon follows in large steps; slots below the new horizon move into the ring, the oldest
  // first.
  void raise_floor(std::uint64_t floor) {
    floor_ = floor;
    if (floor_ + ring_ / 2 < horizon_) return;
    horizon_ = floor_ + ring_;
    for (std::uint32_t at = nodes_[far()].newer; at != far();) {
      const std::uint32_t next = nodes_[at].newer;
      if (nodes_[at].key < horizon_) {
        take(at);
        --far_;
        link(at, nodes_[at].key);
      }
      at = next;
    }
  }

  std::uint64_t ring_;
  Pages<Node> nodes_;
  std::uint64_t floor_ = 0;
  std::uint64_t horizon_ = 0;  // keys from here on are in the far list
  Count near_ = 0;
  Count far_ = 0;
};

}  // namespace mcsim
