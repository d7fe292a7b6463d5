#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"
#include "policies/hosts/kernel_time.hpp"
#include "policies/hosts/level_queue.hpp"

namespace mcsim {

struct SmqSetup {
  std::size_t entries = 1;  // cache blocks
  std::size_t lines = 0;    // blocks of the origin that the trace accesses
  std::size_t regions = 0;
  std::size_t region_lines = 16;
  Jiffies hz = 100;
  Jiffies created = 0;
  bool writes_back = false;
  bool promotes = true;
  bool drops_written = false;  // a hit by a write removes its line
  bool cleans_when_idle = true;
};

// A line that a cache holds at its creation.
struct SmqMapping {
  Slot entry = 0;
  std::uint32_t line = 0;
  bool is_dirty = false;
  std::uint8_t level = 0;
};

// The outcome of a request. kPromoted: a write of a whole block that became a dirty cache block.
enum class SmqOutcome : std::uint8_t { kHit, kMiss, kPromoted };

// dm-cache with policy smq (Linux 6.1, drivers/md/dm-cache-target.c and dm-cache-policy-smq.c),
// with one request in flight, and background work that ends before the next request. The cache
// blocks are in queues of 64 levels, one for clean and one for dirty ones. A third queue has the
// regions (hotspots) of the origin that were accessed by misses. A miss is promoted if the level of
// its region reaches the promote level, which depends on the share of misses in regions of high
// levels.
//
// Lines are blocks of the origin as large as a cache block; regions are groups of `region_lines`
// lines. `Sink` receives the changes of cache blocks:
//
//   void promoted(std::uint32_t line, bool dirty);
//   void demoted(std::uint32_t line);
//   void dirtied(std::uint32_t line);
//   void cleaned(std::uint32_t line);
//
// O(1) per request, and a redistribution of the regions each second and of the blocks each minute.
// Memory: 27 bytes a cache block, 21 bytes a hotspot, 4 bytes a line and a region.
class Smq {
 public:
  // The number of hotspots, and of lines in the region of each.
  static std::size_t hotspots(std::size_t entries) {
    return std::max<std::size_t>(entries / 4, 1024);
  }
  static std::size_t region_lines(std::size_t entries, std::size_t origin_lines) {
    std::size_t lines = 16;
    while (lines > 1 && lines * hotspots(entries) > origin_lines) lines /= 2;
    return lines;
  }

  explicit Smq(const SmqSetup& setup)
      : setup_(setup),
        clean_(setup.entries, 0, LevelQueue::Sentinels::kNone),
        dirty_(setup.entries, 0, LevelQueue::Sentinels::kTwo),
        hot_(hotspots(setup.entries), kTopLevels, LevelQueue::Sentinels::kNone),
        entries_(setup.entries),
        hotspots_(hotspots(setup.entries)),
        entry_after_(setup.lines),
        hotspot_after_(setup.regions),
        now_(setup.created),
        next_wake_(setup.created),
        last_traffic_(setup.created),
        hot_deadline_(setup.created),
        cache_deadline_(setup.created),
        sentinel_deadline_(setup.created + kSentinelSeconds * setup.hz) {
    for (std::size_t i = 0; i < setup.entries; ++i) free_.push_back(static_cast<Slot>(i));
  }

  // Load the lines of an earlier cache, before the first request. Each becomes the oldest of its
  // level, without counts in `Sink`.
  void load(std::span<const SmqMapping> mappings) {
    for (const SmqMapping& of : mappings) {
      entries_[of.entry].line = of.line;
      entries_[of.entry].is_dirty = of.is_dirty;
      entry_after_[of.line] = of.entry + 1;
      (of.is_dirty ? dirty_ : clean_).push_oldest(of.level, of.entry);
    }
    const auto is_loaded = [this](Slot entry) {
      return entry_after_[entries_[entry].line] == entry + 1;
    };
    if (!mappings.empty()) std::erase_if(free_, is_loaded);
  }

  // Serve a request within a line. `whole`: it writes the whole line.
  template <class Sink>
  SmqOutcome request(Jiffies now, std::uint32_t line, std::uint32_t region, Op op, bool whole,
                     Sink& sink) {
    if (now >= next_wake_) run_until(now, sink);
    now_ = now;
    const Slot entry = entry_after_[line] - 1;
    if (entry == kNoSlot) return miss(line, region, op, whole, sink);
    hit(entry, op, sink);
    return SmqOutcome::kHit;
  }

  // Run the background work up to this time.
  template <class Sink>
  void run_until(Jiffies now, Sink& sink) {
    const Jiffies begin = next_wake_;
    while (next_wake_ <= now) {
      if (next_wake_ >= begin + 2 * cycle()) skip_cycles(now);
      wake(sink);
    }
  }

  // Remove a line without background work.
  template <class Sink>
  void drop(std::uint32_t line, Sink& sink) {
    const Slot entry = entry_after_[line] - 1;
    if (entry == kNoSlot) return;
    if (entries_[entry].is_dirty) {
      dirty_.remove(entry);
      sink.cleaned(line);
    } else {
      clean_.remove(entry);
    }
    demote(entry, sink);
  }

  const SmqSetup& setup() const { return setup_; }
  bool holds(std::uint32_t line) const { return entry_after_[line] != 0; }
  bool is_dirty(std::uint32_t line) const {
    return holds(line) && entries_[entry_after_[line] - 1].is_dirty;
  }
  std::size_t size() const { return setup_.entries - free_.size(); }
  std::size_t bytes() const {
    return clean_.bytes() + dirty_.bytes() + hot_.bytes() + entries_.bytes() + hotspots_.bytes() +
           entry_after_.bytes() + hotspot_after_.bytes() + free_.capacity() * sizeof(Slot);
  }

  void prefetch(std::uint32_t line) const { prefetch_line(&entry_after_[line]); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(clean_.check());
    MCSIM_RETURN_IF_ERROR(dirty_.check());
    MCSIM_RETURN_IF_ERROR(hot_.check());
    const auto queued = static_cast<std::size_t>(clean_.count() + dirty_.count());
    std::size_t held = 0;
    for (const Slot entry : entry_after_) held += entry != 0 ? 1 : 0;
    const std::size_t waiting = to_demote_.size() + to_clean_.size();
    if (held == size() && queued + waiting == size()) return absl::OkStatus();
    return internal_error("smq: {} lines in {} cache blocks, {} of them queued", held, size(),
                          queued);
  }

 private:
  static constexpr std::size_t kTopLevels = 8;
  static constexpr std::size_t kHotLevel = 48;  // levels that count as hits of regions
  static constexpr Jiffies kCacheSeconds = 60;
  static constexpr Jiffies kSentinelSeconds = 10;

  struct Entry {
    std::uint32_t line;
    std::uint32_t hit_period;  // the last period in which it hit
    bool is_dirty;
  };
  struct Hotspot {
    std::uint64_t hit_tick;  // the tick after which it was last accessed
    std::uint32_t region;
  };

  template <class Sink>
  void hit(Slot slot, Op op, Sink& sink) {
    Entry& entry = entries_[slot];
    if (entry.hit_period != period_) {
      entry.hit_period = period_;
      (entry.is_dirty ? dirty_ : clean_).requeue(slot, 1);
    }
    if (op == Op::kWrite) {
      if (setup_.drops_written) {
        clean_.remove(slot);
        demote(slot, sink);
      } else if (!entry.is_dirty) {
        if (!setup_.writes_back) {
          last_traffic_ = now_;
          return;
        }
        clean_.remove(slot);
        entry.is_dirty = true;
        dirty_.push(clean_.level(slot), slot);
        sink.dirtied(entry.line);
      }
    }
    tick();
  }

  template <class Sink>
  SmqOutcome miss(std::uint32_t line, std::uint32_t region, Op op, bool whole, Sink& sink) {
    const std::size_t level = touch_region(region);
    last_traffic_ = now_;
    whole = whole && op == Op::kWrite && setup_.writes_back;
    const bool wanted = setup_.promotes && (level >= promote_level_ || (whole && !free_.empty()));
    if (!wanted) {
      tick();
      return SmqOutcome::kMiss;
    }
    const bool fits = !free_.empty();
    if (!fits) ask_for_space();
    if (!whole || !fits) tick();
    if (fits) promote(line, whole, sink);
    if (whole) return fits ? SmqOutcome::kPromoted : SmqOutcome::kMiss;
    work(sink);
    return SmqOutcome::kMiss;
  }

  template <class Sink>
  void promote(std::uint32_t line, bool dirty, Sink& sink) {
    const Slot slot = free_.back();
    free_.pop_back();
    entries_[slot].line = line;
    entries_[slot].is_dirty = dirty;
    entry_after_[line] = slot + 1;
    (dirty ? dirty_ : clean_).push(LevelQueue::kLevels - 1, slot);
    sink.promoted(line, dirty);
  }

  // Queue the demotion of a clean block of the lower levels. If there is none, queue the write-back
  // of a dirty block that was not touched for a period of the sentinels.
  void ask_for_space() {
    if (const Slot victim = clean_.oldest(LevelQueue::kLevels / 2); victim != kNoSlot) {
      if (to_demote_.size() >= setup_.entries / 4) return;
      clean_.remove(victim);
      to_demote_.push_back(victim);
    } else if (const Slot cold = dirty_.oldest_before_sentinels(); cold != kNoSlot) {
      dirty_.remove(cold);
      to_clean_.push_back(cold);
    }
  }

  // Count a miss in its region, and return the level of the region.
  std::size_t touch_region(std::uint32_t region) {
    is_confidence_stale_ = true;
    Slot slot = hotspot_after_[region] - 1;
    if (slot != kNoSlot) {
      ++(hot_.level(slot) >= kHotLevel ? hot_hits_ : hot_misses_);
      hot_.requeue(slot, hotspots_[slot].hit_tick == ticks_ ? 0 : jump_);
      hotspots_[slot].hit_tick = ticks_;
      return hot_.level(slot);
    }
    ++hot_misses_;
    std::size_t level = 0;
    if (used_hotspots_ < hotspots_.size()) {
      slot = static_cast<Slot>(used_hotspots_++);
    } else {
      slot = hot_.oldest();
      level = hot_.level(slot);
      hot_.remove(slot);
      hotspot_after_[hotspots_[slot].region] = 0;
    }
    hotspots_[slot].region = region;
    hotspot_after_[region] = slot + 1;
    hot_.push(level, slot);
    return level;
  }

  void tick() {
    ++ticks_;
    if (is_confidence_stale_) update_confidence();
    if (now_ > next_deadline_) meet_deadlines();
  }

  // The promote level, by the share of misses in regions of high levels: below 1/16, below 1/8, or
  // more.
  void update_confidence() {
    is_confidence_stale_ = false;
    const std::uint64_t counted = hot_hits_ + hot_misses_;
    const std::uint64_t confidence = counted == 0 ? 0 : 256 * hot_hits_ / counted;
    promote_level_ = confidence < 16 ? 48 : confidence < 32 ? 32 : 0;
  }

  void meet_deadlines() {
    if (now_ > sentinel_deadline_) {
      sentinel_deadline_ = now_ + kSentinelSeconds * setup_.hz;
      dirty_.change_sentinels();
    }
    if (now_ > hot_deadline_) {
      hot_deadline_ = now_ + setup_.hz;
      jump_ = promote_level_ == 48 ? 4 : promote_level_ == 32 ? 2 : 1;
      const std::size_t top =
          std::min(hotspots_.size() / LevelQueue::kLevels, setup_.entries / setup_.region_lines);
      hot_.redistribute(static_cast<Count>(top));
      hot_hits_ = hot_misses_ = 0;
      is_confidence_stale_ = true;
    }
    if (now_ > cache_deadline_) {
      cache_deadline_ = now_ + kCacheSeconds * setup_.hz;
      ++period_;
      dirty_.redistribute();
      clean_.redistribute();
    }
    next_deadline_ = std::min({sentinel_deadline_, hot_deadline_, cache_deadline_});
  }

  // The periodic work of the target.
  template <class Sink>
  void wake(Sink& sink) {
    now_ = next_wake_;
    next_wake_ = wake_after(now_);
    tick();
    work(sink);
  }

  // Finish all queued work, and clean all dirty blocks if the cache is idle.
  template <class Sink>
  void work(Sink& sink) {
    for (; !to_demote_.empty(); to_demote_.pop_back()) demote(to_demote_.back(), sink);
    for (; !to_clean_.empty(); to_clean_.pop_back()) clean(to_clean_.back(), sink);
    if (!setup_.cleans_when_idle || now_ <= last_traffic_ + setup_.hz) return;
    while (dirty_.count() > 0) {
      const Slot slot = dirty_.oldest();
      dirty_.remove(slot);
      clean(slot, sink);
    }
  }

  template <class Sink>
  void demote(Slot slot, Sink& sink) {
    const std::uint32_t line = entries_[slot].line;
    entry_after_[line] = 0;
    free_.push_back(slot);
    sink.demoted(line);
  }
  template <class Sink>
  void clean(Slot slot, Sink& sink) {
    entries_[slot].is_dirty = false;
    clean_.push(dirty_.level(slot), slot);
    sink.cleaned(entries_[slot].line);
  }

  Jiffies wake_after(Jiffies now) const { return timer_expiry(now, setup_.hz); }
  Jiffies wake_period() const { return wake_after(wake_after(0)) - wake_after(0); }
  // The time after which deadlines are met at the same wakes again, without requests.
  Jiffies cycle() const {
    const Jiffies period = wake_period();
    return std::lcm(kCacheSeconds * setup_.hz / period + 1,
                    kSentinelSeconds * setup_.hz / period + 1) *
           period;
  }
  // After two cycles without requests, wakes change nothing but their times and deadlines.
  void skip_cycles(Jiffies now) {
    const Jiffies skipped = (now - next_wake_) / cycle() * cycle();
    for (Jiffies* const time :
         {&next_wake_, &hot_deadline_, &cache_deadline_, &sentinel_deadline_, &next_deadline_}) {
      *time += skipped;
    }
  }

  SmqSetup setup_;
  LevelQueue clean_;
  LevelQueue dirty_;
  LevelQueue hot_;
  Pages<Entry> entries_;
  Pages<Hotspot> hotspots_;
  std::size_t used_hotspots_ = 0;
  Pages<std::uint32_t> entry_after_;    // by line: its entry + 1; 0: none
  Pages<std::uint32_t> hotspot_after_;  // by region
  std::vector<Slot> free_;              // the last one is used first
  std::vector<Slot> to_demote_;
  std::vector<Slot> to_clean_;
  Jiffies now_;
  Jiffies next_wake_;
  Jiffies last_traffic_;  // a miss or a write to the origin
  Jiffies hot_deadline_;
  Jiffies cache_deadline_;
  Jiffies sentinel_deadline_;
  Jiffies next_deadline_ = 0;  // the first of the three
  std::uint64_t ticks_ = 1;
  std::uint32_t period_ = 1;  // of hit bits
  std::uint64_t hot_hits_ = 0;
  std::uint64_t hot_misses_ = 0;
  bool is_confidence_stale_ = true;
  std::size_t promote_level_ = LevelQueue::kLevels;
  std::size_t jump_ = 1;
};

}  // namespace mcsim
