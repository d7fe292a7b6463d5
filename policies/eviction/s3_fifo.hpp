#pragma once

#include <tuple>

#include "core/base/choices.hpp"
#include "core/base/pages.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"
#include "policies/eviction/kept_ghosts.hpp"

namespace mcsim {

enum class S3Variant : std::uint8_t {
  kPaper,
  // As in libCacheSim since version 0.3: until the first eviction, new blocks that find the small
  // queue full enter the main queue. A block that moves to a full main queue does not evict a block
  // there at once. Ghosts have a share of the capacity of their own, 0.9.
  kLibCacheSim,
  // As in foyer: the small queue evicts when it exceeds its size, and at first without ghosts. A
  // block that moves to the main queue keeps its count. There are as many ghosts as the cache has
  // blocks, and an accessed ghost stays one until newer ones replace it.
  kFoyer,
};

template <>
struct Choices<S3Variant> {
  static constexpr std::array names{std::pair{"paper", S3Variant::kPaper},
                                    std::pair{"libcachesim", S3Variant::kLibCacheSim},
                                    std::pair{"foyer", S3Variant::kFoyer}};
};

// Which hits in the small queue count.
enum class CountedHits : std::uint8_t {
  kAll,
  kAfterWindow,  // those after as many insertions there as the window has: Clock2Q+
  kAfterShare,   // those after a share of its present length: S4-FIFO
};

// A small FIFO before a main FIFO, and ghosts: the queues of S3-FIFO, Clock2Q+ and S4-FIFO.
template <CountedHits kCounted>
class SmallAndMain : public SlotPolicyBase<WeighedLists<3>> {
 public:
  struct Rules {
    double small;      // share of the capacity of the small queue
    Count promote_at;  // hits there that count, which move a block to the main queue
    S3Variant variant;
    double window;        // share of the small queue's capacity, or of its length for kAfterShare
    double ghosts = 0.9;  // share of the capacity, unless the variant is that of the paper
  };

  SmallAndMain(const Rules& rules, const PolicySetup& setup)
      : SlotPolicyBase(setup, 0), uses_(0), entered_(0), kept_(0), rules_(rules) {
    set_capacity(setup.capacity);
    reserve(setup.slots_for(capacity_ + ghosts_));
  }

  bool access(const auto& a, auto& cache) {
    const Slot slot = cache.find(a.block);
    if (slot == kNoSlot) {
      make_room(cache);
      const bool spills =
          is_libcachesim() && !has_evicted_ && blocks_.weight(kSmall, cache) >= small_;
      insert(spills ? kMain : kSmall, cache.insert(a.block), cache);
      return false;
    }
    if (const auto queue = blocks_.list_of(slot); queue != kGhost) {
      if constexpr (kHasWindow) {
        if (queue == kSmall && insertions_ - entered_[slot] < window()) return true;
      }
      const std::uint8_t most = queue == kMain ? most_passes() : kMostUses;
      uses_[slot] = std::min<std::uint8_t>(most, uses_[slot] + 1);
      return true;
    }
    if (is_foyer()) {
      make_room(cache);
      if (cache.find(a.block) == kNoSlot) {  // newer ghosts replaced it
        insert(kSmall, cache.insert(a.block), cache);
        return false;
      }
      blocks_.erase(slot, cache);
    } else {
      blocks_.erase(slot, cache);  // before another ghost replaces it
      make_room(cache);
    }
    cache.revive(slot);
    insert(kMain, slot, cache);
    return false;
  }

  void remove(Slot slot, auto& cache) {
    if (kept_.contains(slot)) kept_.erase(slot);
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) evict(cache);
    if (is_foyer()) {
      while (kept_.weight() > ghosts_) drop_oldest_ghost(cache);
    } else {
      while (blocks_.weight(kGhost, cache) > ghosts_) cache.forget_back(blocks_, kGhost);
    }
    reserve(cache.slots_for(capacity_ + ghosts_));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kGhost; }
  Count size() const { return blocks_.size(kSmall) + blocks_.size(kMain); }
  // Hits, the more frequent case, change no links; the counts fit into the processor's caches.
  void prefetch(Slot) const {}
  absl::Status check() const {
    if (blocks_.size(kGhost) > ghosts_) return internal_error("s3-fifo: too many remembered");
    MCSIM_RETURN_IF_ERROR(kept_.check());
    return blocks_.check();
  }
  std::size_t bytes() const {
    return blocks_.bytes() + uses_.size() + entered_.size() * sizeof(std::uint32_t) + kept_.bytes();
  }
  auto state() { return std::tie(blocks_, uses_, entered_, kept_, insertions_, has_evicted_); }

 private:
  enum Queue { kSmall, kMain, kGhost };
  static constexpr std::uint8_t kMostUses = 3;
  // How often the main queue reinserts a block: Clock2Q+ has a CLOCK there.
  static constexpr std::uint8_t most_passes() {
    return kCounted == CountedHits::kAfterWindow ? 1 : kMostUses;
  }
  static constexpr bool kHasWindow = kCounted != CountedHits::kAll;

  bool is_paper() const { return rules_.variant == S3Variant::kPaper; }
  bool is_libcachesim() const { return rules_.variant == S3Variant::kLibCacheSim; }
  bool is_foyer() const { return rules_.variant == S3Variant::kFoyer; }

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    small_ = share_of(rules_.small, capacity);
    main_ = std::max<Count>(0, capacity - small_);
    ghosts_ = is_paper() ? main_ : floor_share(rules_.ghosts, capacity);
    if (is_foyer()) {
      small_ = floor_share(rules_.small, capacity);
      ghosts_ = capacity;
    }
    window_ = static_cast<std::uint32_t>(ceil_share(rules_.window, small_));
  }
  // The number of insertions into the small queue after which hits on a block there count.
  std::uint32_t window() const {
    if constexpr (kCounted == CountedHits::kAfterWindow) return window_;
    // The insertion of the block itself counts.
    const Count share = floor_share(rules_.window, blocks_.size(kSmall));
    return static_cast<std::uint32_t>(std::max<Count>(0, share - 1));
  }
  void reserve(std::size_t slots) {
    blocks_.reserve(slots);
    uses_.extend(blocks_.slots());
    if (is_foyer()) kept_.reserve(blocks_.slots());
    if constexpr (kHasWindow) entered_.extend(blocks_.slots());
  }

  void insert(Queue queue, Slot slot, const auto& cache) {
    blocks_.push_front(queue, slot, cache);
    uses_[slot] = 0;
    if constexpr (kHasWindow) {
      if (queue == kSmall) entered_[slot] = ++insertions_;
    }
  }

  void make_room(auto& cache) {
    while (cache.is_full(*this)) evict(cache);
  }
  void evict(auto& cache) {
    has_evicted_ = true;
    if (is_foyer()) return evict_as_foyer(cache);
    if (blocks_.weight(kSmall, cache) >= small_ || blocks_.empty(kMain)) {
      (void)evict_small(cache);
    } else {
      evict_main(cache);
    }
  }

  void evict_as_foyer(auto& cache) {
    if (blocks_.weight(kSmall, cache) > small_ && evict_small(cache)) return;
    if (blocks_.empty(kMain)) return evict_known(blocks_.back(kSmall), cache);
    evict_main(cache);
  }

  // Move blocks to the main queue until one is evicted; return whether one is.
  bool evict_small(auto& cache) {
    while (!blocks_.empty(kSmall)) {
      const Slot oldest = blocks_.back(kSmall);
      if (uses_[oldest] < rules_.promote_at) {
        evict_to_ghost(oldest, cache);
        return true;
      }
      blocks_.move_to_front(kMain, oldest, cache);
      if (!is_foyer()) uses_[oldest] = 0;
      if (is_paper() && blocks_.weight(kMain, cache) > main_) evict_main(cache);
    }
    return false;
  }

  void evict_main(auto& cache) {
    while (uses_[blocks_.back(kMain)] > 0) {
      const Slot oldest = blocks_.back(kMain);
      --uses_[oldest];
      blocks_.move_to_front(kMain, oldest, cache);
    }
    if (is_foyer()) return evict_known(blocks_.back(kMain), cache);
    cache.evict_back(blocks_, kMain);
  }

  // Evict a block that may be remembered already.
  void evict_known(Slot slot, auto& cache) {
    if (kept_.contains(slot)) {
      cache.evict_to_ghost(slot);
      blocks_.move_to_front(kGhost, slot, cache);
    } else {
      blocks_.erase(slot, cache);
      cache.evict(slot);
    }
  }
  void drop_oldest_ghost(auto& cache) {
    const Slot oldest = kept_.back();
    kept_.erase(oldest);
    if (resident(oldest)) return;
    blocks_.erase(oldest, cache);
    cache.forget(oldest);
  }

  void evict_to_ghost(Slot slot, auto& cache) {
    const Count weight = cache.weight(slot);
    if (is_foyer()) {
      // A block in the small queue is no ghost, or it would have entered the main queue.
      while (kept_.weight() > 0 && kept_.weight() + weight > ghosts_) drop_oldest_ghost(cache);
      kept_.push_front(slot, weight);
      return evict_known(slot, cache);
    }
    if (weight > ghosts_) {
      blocks_.erase(slot, cache);
      cache.evict(slot);
      return;
    }
    while (blocks_.weight(kGhost, cache) + weight > ghosts_) cache.forget_back(blocks_, kGhost);
    cache.evict_to_ghost(slot);
    blocks_.move_to_front(kGhost, slot, cache);
  }

  Pages<std::uint8_t> uses_;
  Pages<std::uint32_t> entered_;  // insertions into the small queue up to that of the block
  KeptGhosts kept_;  // ghosts of the variant foyer; those whose blocks left are in `kGhost` too
  Rules rules_;
  std::uint32_t insertions_ = 0;  // modulo 2^32
  std::uint32_t window_ = 0;
  Count small_ = 0;
  Count main_ = 0;
  Count ghosts_ = 0;
  bool has_evicted_ = false;
};

// S3-FIFO: three queues. New blocks enter a small FIFO. Those accessed often enough in it move to
// the main FIFO; the others are evicted and remembered as ghosts. A ghost that is accessed again
// enters the main FIFO. The main FIFO reinserts a block once for each access, up to three times.
//
// O(1) per access, amortised; 10 bytes per block held or remembered.
class S3Fifo : public SmallAndMain<CountedHits::kAll> {
 public:
  struct Params {
    double small = 0.1;
    Count promote_at = 2;
    S3Variant variant = S3Variant::kPaper;

    static constexpr auto fields() {
      return std::tuple{
          Field{"small", &Params::small, "share of the capacity of the small queue", 0, 1},
          Field{"promote_at", &Params::promote_at,
                "number of accesses in the small queue that move a block to the main queue", 1, 3},
          Field{"variant", &Params::variant,
                "algorithm: as in the paper, as in libCacheSim since version 0.3, or as in foyer"}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "s3-fifo",
      .summary = "Filters new blocks in a small FIFO and keeps accessed blocks in a main FIFO.",
      .reference =
          "Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache "
          "eviction, SOSP 2023"};

  S3Fifo(const Params& params, const PolicySetup& setup)
      : SmallAndMain({.small = params.small,
                      .promote_at = params.promote_at,
                      .variant = params.variant,
                      .window = 0},
                     setup) {}
};

}  // namespace mcsim
