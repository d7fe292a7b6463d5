#include "policies/hosts/bcache_buckets.hpp"

#include <utility>

namespace mcsim {
namespace {

struct NoSink {
  void inserted(BlockId, BcacheBuckets::BlockState) {}
  void bypassed(BlockId, BcacheBuckets::BlockState) {}
  void evicted(BlockId) {}
};

constexpr std::size_t kKeyBytes = 24;
constexpr std::size_t kSectorBytes = 512;

}  // namespace

BcacheBuckets::BcacheBuckets(const BcacheGeometry& geometry)
    : geometry_(geometry),
      buckets_(geometry.buckets),
      bucket_blocks_(geometry.bucket_blocks()),
      bucket_shift_(std::countr_zero(bucket_blocks_)),
      renewed_(buckets_),
      pinned_(buckets_),
      mark_(buckets_),
      sectors_(buckets_),
      live_(buckets_),
      dirty_(buckets_),
      filled_(buckets_),
      block_at_(buckets_ * bucket_blocks_),
      slot_after_(geometry.blocks),
      is_dirty_(geometry.blocks),
      available_(buckets_),
      until_gc_(static_cast<Count>(buckets_) * geometry.bucket_sectors / 16),
      renewed_counts_(2 * kNew),
      open_(kOpenBuckets),
      open_after_(geometry.tasks),
      heap_(8 * (std::bit_ceil(buckets_) / 1024)) {
  const std::size_t bytes = static_cast<std::size_t>(geometry.bucket_sectors) * kSectorBytes;
  priority_buckets_ = (3 * buckets_ + bytes - 41) / (bytes - 40);
  const std::size_t reserve = std::bit_ceil(buckets_) / 1024;
  list(Purpose::kPriorities).limit = priority_buckets_;
  list(Purpose::kBtree).limit = kBtreeReserve;
  list(Purpose::kMoving).limit = rounded(reserve);
  list(Purpose::kData).limit = rounded(reserve);
  incoming_.limit = rounded(4 * reserve);
  // The superblock and the journal.
  const std::size_t fixed = 1 + std::clamp<std::size_t>(buckets_ / 128, 2, 256);
  for (std::size_t i = 0; i < fixed; ++i) mark_[i] = Mark::kMetadata;
  available_ -= fixed;
  fill_reserves();
  NoSink none;
  run_allocator(none);
  add_nodes(none);
}

// The first buckets of a new cache.
void BcacheBuckets::fill_reserves() {
  std::size_t next = 0;
  for (const Purpose purpose : {Purpose::kPriorities, Purpose::kBtree}) {
    for (; !list(purpose).is_full() && next < buckets_; ++next) {
      if (!is_reusable(next)) continue;
      invalidate(next);
      list(purpose).buckets.push_back(static_cast<Slot>(next));
    }
  }
}

std::size_t BcacheBuckets::choose_open(std::size_t task) const {
  if (const std::size_t after = open_after_[task]; after != 0) {
    if (open_[after - 1].has_task && open_[after - 1].task == task) return after - 1;
  }
  const auto oldest = std::ranges::min_element(open_, {}, &Open::last_use);
  return static_cast<std::size_t>(oldest - open_.begin());
}

Slot BcacheBuckets::allocate(Purpose purpose) {
  List& from = list(Purpose::kData).buckets.empty() ? list(purpose) : list(Purpose::kData);
  if (from.buckets.empty()) return kNoSlot;
  const Slot bucket = from.pop();
  const bool has_data = purpose == Purpose::kData;
  sectors_[bucket] = static_cast<std::uint32_t>(geometry_.bucket_sectors);
  mark_[bucket] = has_data ? Mark::kClean : Mark::kMetadata;
  if (available_ > 0) --available_;
  return bucket;
}

// Move incoming buckets to the free lists; return whether all of them had a place.
bool BcacheBuckets::distribute_incoming() {
  while (at_hand_ != kNoSlot || !incoming_.buckets.empty()) {
    if (at_hand_ == kNoSlot) at_hand_ = incoming_.pop();
    const auto open =
        std::ranges::find_if(lists_, [](const List& each) { return !each.is_full(); });
    if (open == lists_.end()) return false;
    open->buckets.push_back(at_hand_);
    at_hand_ = kNoSlot;
  }
  return true;
}

// Write the priorities of all buckets to new buckets; free those of the time before.
void BcacheBuckets::write_priorities() {
  written_.clear();
  for (std::size_t i = 0; i < priority_buckets_; ++i) {
    const Slot bucket = allocate_unpinned(Purpose::kPriorities);
    if (bucket == kNoSlot) break;
    written_.push_back(bucket);
    ++priorities_written_;
  }
  for (const Slot bucket : priorities_) {
    mark_[bucket] = Mark::kNone;
    sectors_[bucket] = 0;
    if (available_ < buckets_) ++available_;
  }
  std::swap(priorities_, written_);
}

// Few buckets have less weight than those in a full heap, so groups of them are compared at once.
void BcacheBuckets::choose_victims() {
  constexpr std::uint32_t kNever = ~std::uint32_t{0};
  constexpr std::size_t kGroup = 16;
  heap_.clear();
  std::size_t next = 0;
  for (; next < buckets_ && !heap_.is_full(); ++next) {
    if (is_reusable(next)) heap_.offer(weight(next), static_cast<Slot>(next));
  }
  for (; next < buckets_; next += kGroup) {
    std::array<std::uint32_t, kGroup> weights;
    const std::size_t count = std::min(kGroup, buckets_ - next);
    std::uint32_t least = kNever;
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = is_reusable(next + i) ? weight(next + i) : kNever;
      least = std::min(least, weights[i]);
    }
    if (least >= heap_.greatest_weight()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      heap_.offer(weights[i], static_cast<Slot>(next + i));
    }
  }
  heap_.turn();
}

void BcacheBuckets::invalidate(std::size_t bucket) {
  stop_ageing(bucket);
  pinned_[bucket] = 1;
  filled_[bucket] = 0;
}

void BcacheBuckets::collect() {
  until_gc_ = static_cast<Count>(buckets_) * geometry_.bucket_sectors / 16;
  available_ = 0;
  for (std::size_t i = 0; i < buckets_; ++i) {
    if (pinned_[i] != 0) {
      if (live_[i] == 0) continue;
      const bool stays_dirty = dirty_[i] > 0 || mark_[i] == Mark::kDirty;
      mark_[i] = stays_dirty ? Mark::kDirty : Mark::kClean;
    } else if (mark_[i] != Mark::kMetadata) {
      mark_[i] = dirty_[i] > 0 ? Mark::kDirty : live_[i] > 0 ? Mark::kClean : Mark::kNone;
      sectors_[i] = live_[i] * static_cast<std::uint32_t>(geometry_.block_sectors);
      available_ += mark_[i] != Mark::kDirty ? 1 : 0;
    }
  }
}

// A node is one bucket, filled to 70 % on average.
std::size_t BcacheBuckets::wanted_nodes() const {
  const std::size_t keys = kKeyBytes * static_cast<std::size_t>(live_blocks_);
  const std::size_t node = kSectorBytes * static_cast<std::size_t>(geometry_.bucket_sectors);
  return 5 * keys <= 4 * node ? 2 : 3 + 10 * keys / (7 * node);
}

// All ageing buckets but those at 0 take part in the least priority.
void BcacheBuckets::reduce_priorities() {
  renewed_at(++now_) = 0;
  oldest_ = std::max(oldest_, now_ - kNew);
  while (oldest_ < now_ && renewed_at(oldest_) == 0) ++oldest_;
  least_ = oldest_ < now_ ? kNew - (now_ - oldest_) : kMetadataPriority;
}

BcacheBuckets::Usage BcacheBuckets::usage() const {
  Usage usage{.data = live_blocks_,
              .blocks_written = blocks_written_,
              .priorities_written = priorities_written_};
  for (std::size_t i = 0; i < buckets_; ++i) {
    usage.garbage += Count{filled_[i]} - Count{live_[i]};
    usage.metadata += mark_[i] == Mark::kMetadata ? 1 : 0;
  }
  return usage;
}

absl::Status BcacheBuckets::check() const {
  Count live = 0;
  Count dirty = 0;
  for (std::size_t i = 0; i < buckets_; ++i) {
    std::uint32_t found = 0;
    for (std::size_t slot = i * bucket_blocks_; slot < i * bucket_blocks_ + filled_[i]; ++slot) {
      found += slot_after_[block_at_[slot]] == slot + 1 ? 1 : 0;
    }
    if (found != live_[i] || dirty_[i] > live_[i] ||
        (filled_[i] > 0 && mark_[i] == Mark::kMetadata)) {
      return internal_error("bcache: bucket {} has {} live blocks, counted {}, {} of them dirty", i,
                            found, live_[i], dirty_[i]);
    }
    live += found;
    dirty += dirty_[i];
  }
  if (live == live_blocks_ && dirty == dirty_blocks_) return absl::OkStatus();
  return internal_error("bcache: {} live blocks, {} of them dirty, counted {} and {}", live, dirty,
                        live_blocks_, dirty_blocks_);
}

}  // namespace mcsim
