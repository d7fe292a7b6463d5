#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/access_clock.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

// The sampled policies of Redis, as in its file evict.c.
namespace mcsim {

// The best candidates for eviction that recent samples had, in the order of their ranks. Their
// ranks are those at the time of the sample. A candidate may have left the cache since, and a block
// may be in the pool more than once.
class EvictionPool {
 public:
  explicit EvictionPool(std::size_t most) : candidates_(most) {}

  bool empty() const { return count_ == 0; }
  // Remove the candidate with the highest rank, the first one to enter if several have it.
  BlockId pop() { return candidates_[--count_].block; }

  // A candidate enters a full pool if its rank is above the lowest one, which leaves.
  void offer(BlockId block, std::uint64_t rank) {
    std::size_t at = 0;
    while (at < count_ && candidates_[at].rank < rank) ++at;
    const auto begin = candidates_.begin();
    const auto place = begin + static_cast<std::ptrdiff_t>(at);
    if (count_ < candidates_.size()) {
      std::shift_right(place, begin + static_cast<std::ptrdiff_t>(++count_), 1);
      *place = {.rank = rank, .block = block};
    } else if (at > 0) {
      std::shift_left(begin, place, 1);
      *(place - 1) = {.rank = rank, .block = block};
    }
  }

  std::size_t bytes() const { return candidates_.size() * sizeof(Candidate); }
  void save(ArchiveWriter& to) {
    to(count_);
    for (std::size_t i = 0; i < count_; ++i) to(candidates_[i].rank, candidates_[i].block);
  }
  void load(ArchiveReader& from) {
    std::uint64_t count = 0;
    from(count);
    if (count > candidates_.size()) return from.fail(data_loss("{} candidates", count));
    for (count_ = 0; count_ < count; ++count_) {
      from(candidates_[count_].rank, candidates_[count_].block);
      candidates_[count_].block = from.block(candidates_[count_].block);
    }
  }

 private:
  struct Candidate {
    std::uint64_t rank = 0;
    BlockId block{};
  };

  std::vector<Candidate> candidates_;
  std::uint64_t count_ = 0;
};

// Evicts the block of a pool with the highest rank; each eviction first offers a sample of blocks,
// drawn with replacement. `Rank` computes 24 bits per block at each access, and ranks from them.
// Objects of different sizes are evicted until the new one fits; sizes do not change ranks.
template <class Rank>
class SampledEviction : public SlotPolicyBase<SlotSet> {
 public:
  static constexpr bool kReadsTime = true;
  static constexpr bool kWeighs = true;

  SampledEviction(const typename Rank::Params& params, const PolicySetup& setup, const char* name)
      : SlotPolicyBase(setup),
        rank_(params),
        samples_(params.samples),
        marks_(slots()),
        pool_(static_cast<std::size_t>(params.pool)),
        clock_(params.rate),
        random_(Random(setup.seed).split(name)) {}

  bool reads_time() const { return clock_.reads_trace(); }

  bool access(const auto& a, auto& cache) {
    const Nanoseconds now = clock_.advance(a);
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      marks_[slot] = rank_.accessed(marks_[slot], now, random_);
      return true;
    }
    make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
    const Slot slot = cache.insert(a.block);
    blocks_.insert(slot);
    marks_[slot] = rank_.inserted(now);
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    marks_.extend(blocks_.slots());
  }

  void prefetch(Slot slot) const { prefetch_line(&marks_[slot]); }
  std::size_t bytes() const {
    return blocks_.bytes() + marks_.size() * sizeof(std::uint32_t) + pool_.bytes();
  }
  auto state() { return std::tie(blocks_, marks_, pool_, clock_, random_); }

 private:
  void evict(auto& cache) {
    while (true) {
      for (Count i = 0; i < samples_; ++i) {
        const Slot slot = blocks_[random_.below(static_cast<std::uint64_t>(size()))];
        pool_.offer(cache.block(slot), rank_.rank(marks_[slot], clock_.now()));
      }
      while (!pool_.empty()) {
        const Slot victim = cache.find(pool_.pop());
        if (victim == kNoSlot) continue;
        blocks_.erase(victim);
        return cache.evict(victim);
      }
    }
  }

  Rank rank_;
  Count samples_;
  Pages<std::uint32_t> marks_;
  EvictionPool pool_;
  AccessClock clock_;
  Random random_;
};

// The time since the last access, by a clock of 24 bits.
class IdleTime {
 public:
  struct Params {
    Count samples = 5;
    Count pool = 16;
    Count resolution = 1000;
    Count rate = AccessClock::kDefaultRate;

    static constexpr auto fields() {
      return std::tuple{
          Field{"samples", &Params::samples, "number of blocks drawn at each eviction", 1, 64},
          Field{"pool", &Params::pool, "number of candidates that are remembered", 1, 1024},
          Field{"resolution", &Params::resolution, "milliseconds between two steps of the clock", 1,
                1e9},
          Field{"rate", &Params::rate, AccessClock::kHelp, 0, AccessClock::kMostRate}};
    }
  };

  explicit IdleTime(const Params& params)
      : step_(static_cast<std::uint64_t>(params.resolution) * 1'000'000) {}

  std::uint32_t inserted(Nanoseconds now) const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(now) / step_) & kMost;
  }
  std::uint32_t accessed(std::uint32_t, Nanoseconds now, Random&) const { return inserted(now); }
  std::uint64_t rank(std::uint32_t last, Nanoseconds now) const {
    const std::uint32_t time = inserted(now);
    return time >= last ? time - last : time + (kMost - last);
  }

 private:
  static constexpr std::uint32_t kMost = (1U << 24) - 1;

  std::uint64_t step_;
};

// A count that grows more slowly the higher it is, and shrinks by one for every `decay` minutes
// without an access. The 24 bits are those of the count, and of the minute of the last access.
class LogarithmicCount {
 public:
  struct Params {
    Count samples = 5;
    Count pool = 16;
    Count log_factor = 10;
    Count decay = 1;
    Count rate = AccessClock::kDefaultRate;

    static constexpr auto fields() {
      return std::tuple{
          Field{"samples", &Params::samples, "number of blocks drawn at each eviction", 1, 64},
          Field{"pool", &Params::pool, "number of candidates that are remembered", 1, 1024},
          Field{"log_factor", &Params::log_factor,
                "accesses that raise a count, per step above the first count; 0: each raises it", 0,
                1e9},
          Field{"decay", &Params::decay,
                "minutes without an access after which a count shrinks by one; 0: never", 0, 65535},
          Field{"rate", &Params::rate, AccessClock::kHelp, 0, AccessClock::kMostRate}};
    }
  };

  explicit LogarithmicCount(const Params& params) : params_(params) {}

  std::uint32_t inserted(Nanoseconds now) const { return minute(now) << kBits | kFirst; }
  std::uint32_t accessed(std::uint32_t mark, Nanoseconds now, Random& random) const {
    std::uint32_t count = decayed(mark, now);
    if (count < kMost) {
      const std::uint32_t above = count - std::min(count, kFirst);
      const double wanted = above * static_cast<double>(params_.log_factor) + 1;
      if (random.uniform() < 1 / wanted) ++count;
    }
    return minute(now) << kBits | count;
  }
  std::uint64_t rank(std::uint32_t mark, Nanoseconds now) const {
    return kMost - decayed(mark, now);
  }

 private:
  static constexpr unsigned kBits = 8;
  static constexpr std::uint32_t kMost = (1U << kBits) - 1;
  static constexpr std::uint32_t kFirst = 5;
  static constexpr std::uint32_t kMinutes = (1U << 16) - 1;

  static std::uint32_t minute(Nanoseconds now) {
    constexpr std::uint64_t kMinute = 60'000'000'000;
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(now) / kMinute) & kMinutes;
  }
  std::uint32_t decayed(std::uint32_t mark, Nanoseconds now) const {
    const std::uint32_t count = mark & kMost;
    if (params_.decay == 0) return count;
    const std::uint32_t last = mark >> kBits, time = minute(now);
    const std::uint32_t elapsed = time >= last ? time - last : kMinutes - last + time;
    return count - std::min(count, elapsed / static_cast<std::uint32_t>(params_.decay));
  }

  Params params_;
};

// O(1) per hit, O(samples + pool) per eviction; 12 bytes per block of the capacity.
class SampledLru : public SampledEviction<IdleTime> {
 public:
  using Params = IdleTime::Params;
  static constexpr ComponentInfo kInfo{
      .name = "sampled-lru",
      .summary = "Evicts the longest idle block among samples and earlier candidates.",
      .reference = "Redis, evict.c, allkeys-lru"};

  SampledLru(const Params& params, const PolicySetup& setup)
      : SampledEviction(params, setup, kInfo.name) {}
};

// O(1) per hit, O(samples + pool) per eviction; 12 bytes per block of the capacity.
class SampledLfu : public SampledEviction<LogarithmicCount> {
 public:
  using Params = LogarithmicCount::Params;
  static constexpr ComponentInfo kInfo{
      .name = "sampled-lfu",
      .summary =
          "Evicts the block with the lowest logarithmic count among samples and earlier "
          "candidates.",
      .reference = "Redis, evict.c, allkeys-lfu"};

  SampledLfu(const Params& params, const PolicySetup& setup)
      : SampledEviction(params, setup, kInfo.name) {}
};

}  // namespace mcsim
