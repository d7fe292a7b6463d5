#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/bit_array.hpp"
#include "core/containers/slot.hpp"
#include "policies/hosts/bounded_heap.hpp"

namespace mcsim {

struct BcacheGeometry {
  std::size_t buckets = 0;
  Count bucket_sectors = 0;
  Count block_sectors = 0;  // of a block of the trace
  std::size_t blocks = 0;   // ids of the trace
  std::size_t tasks = 0;    // VMs

  std::size_t bucket_blocks() const {
    return static_cast<std::size_t>(bucket_sectors / block_sectors);
  }
};

// The buckets of bcache with policy lru (Linux 6.1, drivers/md/bcache: alloc.c, btree.c, super.c),
// with one request in flight and settled work in the background. Blocks are appended to the open
// bucket of their task. A bucket is reused as a whole: its least recently used blocks and its
// garbage go together.
//
// Free buckets are on four lists. The allocator refills them from incoming buckets. When it has
// none left, it invalidates the buckets with the least weight (priority times live sectors), and
// writes the priorities of all buckets, for which it needs further buckets.
//
// `Sink` receives the changes of blocks:
//
//   void inserted(BlockId block, BlockState before);
//   void bypassed(BlockId block, BlockState before);  // without a free bucket
//   void evicted(BlockId block);
//
// O(1) per request, and a pass over all buckets for each invalidation. Memory: 4 bytes a block of
// the cache, 4.1 bytes a block of the trace and 23 bytes a bucket.
class BcacheBuckets {
 public:
  enum class BlockState : std::uint8_t { kAbsent, kClean, kDirty };

  static constexpr std::size_t kLeastBuckets = 513;

  struct Usage {
    Count data = 0;      // blocks in live data
    Count garbage = 0;   // overwritten or removed blocks in buckets with data
    Count metadata = 0;  // buckets
    Count blocks_written = 0;
    Count priorities_written = 0;  // buckets
  };

  explicit BcacheBuckets(const BcacheGeometry& geometry);

  // Let all buckets age by the traffic of a request.
  void age(Count sectors) {
    age_ -= sectors;
    while (age_ < 0) {
      age_ += static_cast<Count>(buckets_) * geometry_.bucket_sectors / 1024;
      reduce_priorities();
    }
  }

  bool holds(BlockId block) const { return slot_after_[block] != 0; }
  bool is_dirty(BlockId block) const { return holds(block) && is_dirty_[block]; }
  // Record a read.
  void renew(BlockId block) {
    const std::size_t bucket = bucket_of(block);
    if (renewed_[bucket] == now_ || renewed_[bucket] == kAgeless) return;
    stop_ageing(bucket);
    start_ageing(bucket);
  }
  void prefetch(BlockId block) const { prefetch_line(&slot_after_[block]); }

  // Append adjacent blocks to the open bucket of their task. A block that had an older copy leaves
  // garbage behind.
  template <class Sink>
  void insert(std::span<const BlockId> blocks, std::size_t task, bool dirty, Sink& sink) {
    until_gc_ -= static_cast<Count>(blocks.size()) * geometry_.block_sectors;
    if (until_gc_ < 0) {
      collect();
      add_nodes(sink);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Open* open = open_of(task, sink);
      if (open == nullptr) {
        for (; i < blocks.size(); ++i) sink.bypassed(blocks[i], remove(blocks[i]));
        return;
      }
      append(*open, blocks[i], dirty, sink);
    }
  }

  // Remove a block; return its state before.
  BlockState remove(BlockId block) {
    if (!holds(block)) return BlockState::kAbsent;
    const std::size_t bucket = bucket_of(block);
    const bool was_dirty = dirty_[bucket] > 0 && is_dirty_[block];
    slot_after_[block] = 0;
    --live_[bucket];
    --live_blocks_;
    if (was_dirty) clean(block, bucket);
    return was_dirty ? BlockState::kDirty : BlockState::kClean;
  }

  // Record that a dirty block was written back.
  void clean(BlockId block) { clean(block, bucket_of(block)); }

  // Percentage of buckets that cannot be reused before the next garbage collection.
  Count in_use() const { return static_cast<Count>((buckets_ - available_) * 100 / buckets_); }
  Count size() const { return live_blocks_; }
  Count dirty() const { return dirty_blocks_; }
  Usage usage() const;
  absl::Status check() const;

 private:
  static constexpr std::uint32_t kNew = 32'768;
  static constexpr std::uint32_t kMetadataPriority = 65'535;
  static constexpr std::uint32_t kAgeless = 0;
  static constexpr std::size_t kOpenBuckets = 128;
  static constexpr std::size_t kBtreeReserve = 7;

  enum class Mark : std::uint8_t { kNone, kClean, kDirty, kMetadata };
  enum class Purpose : std::uint8_t { kPriorities, kBtree, kMoving, kData };

  struct List {
    std::vector<Slot> buckets;  // the first one is the next
    std::size_t limit = 0;

    bool is_full() const { return buckets.size() >= limit; }
    Slot pop() {
      const Slot bucket = buckets.front();
      buckets.erase(buckets.begin());
      return bucket;
    }
  };
  struct Open {
    Slot bucket = kNoSlot;
    std::size_t free = 0;  // blocks
    std::size_t task = 0;
    bool has_task = false;
    std::uint64_t last_use = 0;
  };

  static std::size_t rounded(std::size_t size) {
    return size <= 4 ? size : std::bit_ceil(size) - 1;
  }

  std::size_t bucket_of(BlockId block) const { return (slot_after_[block] - 1) >> bucket_shift_; }
  void clean(BlockId block, std::size_t bucket) {
    is_dirty_.clear(block);
    --dirty_[bucket];
    --dirty_blocks_;
  }
  bool is_reusable(std::size_t bucket) const {
    return (pinned_[bucket] == 0) & (mark_[bucket] <= Mark::kClean);
  }
  List& list(Purpose purpose) { return lists_[static_cast<std::size_t>(purpose)]; }

  template <class Sink>
  void append(Open& open, BlockId block, bool dirty, Sink& sink) {
    const BlockState before = remove(block);
    const std::size_t bucket = open.bucket;
    const std::size_t slot = bucket * bucket_blocks_ + (bucket_blocks_ - open.free);
    block_at_[slot] = block;
    slot_after_[block] = static_cast<std::uint32_t>(slot + 1);
    ++live_[bucket];
    ++live_blocks_;
    ++filled_[bucket];
    ++blocks_written_;
    if (dirty) {
      mark_[bucket] = Mark::kDirty;
      is_dirty_.set(block);
      ++dirty_[bucket];
      ++dirty_blocks_;
    }
    if (--open.free == 0) {
      pinned_[bucket] = 0;
      start_ageing(bucket);
    }
    sink.inserted(block, before);
  }

  // Return the open bucket of a task, or null if no bucket is free. A task without one takes over
  // the least recently used.
  template <class Sink>
  Open* open_of(std::size_t task, Sink& sink) {
    Open& open = open_[choose_open(task)];
    if (open.free == 0) {
      const Slot bucket = allocate_data(sink);
      if (bucket == kNoSlot) return nullptr;
      open.bucket = bucket;
      open.free = bucket_blocks_;
    }
    open.task = task;
    open.has_task = true;
    open.last_use = ++uses_;
    open_after_[task] = static_cast<std::uint8_t>(&open - open_.data() + 1);
    return &open;
  }
  std::size_t choose_open(std::size_t task) const;

  template <class Sink>
  Slot allocate_data(Sink& sink) {
    if (list(Purpose::kData).buckets.empty()) run_allocator(sink);
    const Slot bucket = allocate(Purpose::kData);
    if (bucket != kNoSlot) run_allocator(sink);
    return bucket;
  }
  Slot allocate(Purpose purpose);

  // Refill the free lists, until the incoming bucket at hand has no place.
  template <class Sink>
  void run_allocator(Sink& sink) {
    while (true) {
      if (!is_filling_ && !distribute_incoming()) return;
      fill_incoming(sink);
      if (!incoming_.is_full()) {
        collect();
        fill_incoming(sink);
      }
      is_filling_ = !incoming_.is_full();
      if (is_filling_) return;
      write_priorities();
    }
  }
  bool distribute_incoming();
  void write_priorities();

  // Invalidate the buckets with the least weight.
  template <class Sink>
  void fill_incoming(Sink& sink) {
    choose_victims();
    for (; !incoming_.is_full() && !heap_.empty(); heap_.pop()) {
      const Slot bucket = heap_.top();
      const std::size_t first = bucket * bucket_blocks_;
      for (std::size_t i = 0; i < filled_[bucket]; ++i) prefetch(block_at_[first + i]);
      for (std::size_t i = 0; i < filled_[bucket]; ++i) {
        const std::size_t slot = first + i;
        const BlockId block = block_at_[slot];
        if (slot_after_[block] != slot + 1) continue;
        remove(block);
        sink.evicted(block);
      }
      invalidate(bucket);
      incoming_.buckets.push_back(bucket);
    }
  }
  void choose_victims();
  void invalidate(std::size_t bucket);

  // Garbage collection: count the live sectors of all buckets that are not open.
  void collect();

  // Allocate nodes of the B-tree for all keys. The first two are its root and the uuids.
  template <class Sink>
  void add_nodes(Sink& sink) {
    while (nodes_ < wanted_nodes() && allocate_unpinned(Purpose::kBtree) != kNoSlot) {
      ++nodes_;
      run_allocator(sink);
    }
  }
  Slot allocate_unpinned(Purpose purpose) {
    const Slot bucket = allocate(purpose);
    if (bucket != kNoSlot) pinned_[bucket] = 0;
    return bucket;
  }
  std::size_t wanted_nodes() const;
  void reduce_priorities();
  void fill_reserves();

  // The priority of a bucket begins at kNew and falls by one at every reduction, to 0. It is
  // computed from the reduction of its last renewal. Ageless buckets have no data or are pinned;
  // their priority has no effect.
  std::uint32_t priority(std::size_t bucket) const {
    return kNew - std::min(kNew, now_ - renewed_[bucket]);
  }
  void start_ageing(std::size_t bucket) {
    renewed_[bucket] = now_;
    ++renewed_at(now_);
  }
  void stop_ageing(std::size_t bucket) {
    if (renewed_[bucket] != kAgeless && now_ - renewed_[bucket] <= kNew) {
      --renewed_at(renewed_[bucket]);
    }
    renewed_[bucket] = kAgeless;
  }
  // Number of buckets renewed last at this reduction, one of the last kNew + 1.
  std::uint32_t& renewed_at(std::uint32_t reduction) {
    return renewed_counts_[reduction % renewed_counts_.size()];
  }

  // Modulo 2^32, as in the kernel.
  std::uint32_t weight(std::size_t bucket) const {
    const std::int64_t least = least_;
    const std::int64_t base = (std::int64_t{kNew} - least) / 8;
    return static_cast<std::uint32_t>((priority(bucket) - least + base) * sectors_[bucket]);
  }

  BcacheGeometry geometry_;
  std::size_t buckets_;
  std::size_t bucket_blocks_;
  int bucket_shift_;
  // By bucket.
  Pages<std::uint32_t> renewed_;  // number of the reduction before the last renewal; or kAgeless
  Pages<std::uint16_t> pinned_;   // 1: open or free; such buckets stay as they are
  Pages<Mark> mark_;
  Pages<std::uint32_t> sectors_;  // live ones, as of the last garbage collection
  Pages<std::uint32_t> live_;     // blocks
  Pages<std::uint32_t> dirty_;    // blocks
  Pages<std::uint32_t> filled_;   // blocks
  Pages<BlockId> block_at_;       // by block of the cache
  Pages<std::uint32_t> slot_after_;
  BitArray is_dirty_;

  std::array<List, 4> lists_;  // by purpose
  List incoming_;
  Slot at_hand_ = kNoSlot;
  bool is_filling_ = false;
  std::size_t available_;
  Count until_gc_;
  Count age_ = 0;
  std::uint32_t now_ = kNew + 1;  // reductions of priorities, counted from here
  std::uint32_t oldest_ = 1;      // no bucket that ages was renewed last at a reduction before
  std::uint32_t least_ = 0;       // priority of any bucket that ages, at the last reduction
  std::vector<std::uint32_t> renewed_counts_;
  std::size_t priority_buckets_;
  std::vector<Slot> priorities_;
  std::vector<Slot> written_;  // empty but while priorities are written
  std::size_t nodes_ = 0;      // of the B-tree; and the bucket of the uuids
  std::vector<Open> open_;
  std::vector<std::uint8_t> open_after_;  // by task
  std::uint64_t uses_ = 0;
  BoundedHeap heap_;
  Count live_blocks_ = 0;
  Count dirty_blocks_ = 0;
  Count blocks_written_ = 0;
  Count priorities_written_ = 0;
};

}  // namespace mcsim
