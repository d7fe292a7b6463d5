#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/recency_tails.hpp"
#include "core/engine/block_owners.hpp"
#include "core/engine/host_reading.hpp"
#include "core/engine/lru_parts.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// What is asked of who replays, besides.
enum class Told : std::uint8_t {
  kNothing,
  kCounts,   // of blocks, in all tiers together
  kGhosts,   // the same, and misses of what was evicted
  kTails,    // the same, maybe, and hits of what was accessed least recently
  kTiers,    // counts by tier
  kOrdered,  // by tier, of tiers that have their blocks in order: whatever it is
  kAll,      // whatever it is: to be looked up
};

// Calls go<told>(), for what is compiled for each.
template <class Go>
void as_told(Told told, Go go) {
  switch (told) {
    case Told::kNothing:
      return go.template operator()<Told::kNothing>();
    case Told::kCounts:
      return go.template operator()<Told::kCounts>();
    case Told::kGhosts:
      return go.template operator()<Told::kGhosts>();
    case Told::kTails:
      return go.template operator()<Told::kTails>();
    case Told::kTiers:
      return go.template operator()<Told::kTiers>();
    case Told::kOrdered:
      return go.template operator()<Told::kOrdered>();
    case Told::kAll:
      return go.template operator()<Told::kAll>();
  }
  __builtin_unreachable();
}

// A byte a block for each of some caches: what one of them fetches, the others have. Each is their
// first, or one of several.
class SeenBytes {
 public:
  SeenBytes(std::size_t blocks, std::size_t caches)
      : shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(caches)))),
        bytes_(std::make_shared<Pages<std::uint8_t>>(blocks << shift_)) {}
  // Those of another of the caches.
  SeenBytes beside(std::size_t cache) const {
    SeenBytes other = *this;
    other.first_ = bytes_->data() + cache;
    return other;
  }

  template <bool kAlone>
  std::uint8_t& of(BlockId block) const {
    return first_[kAlone ? std::size_t{block} : std::size_t{block} << shift_];
  }
  void clear() { std::ranges::fill(*bytes_, std::uint8_t{0}); }

 private:
  unsigned shift_;
  std::shared_ptr<Pages<std::uint8_t>> bytes_;
  std::uint8_t* first_ = bytes_->data();
};

// One cache, and what is known of each VM's blocks in it. A byte a block of the trace, with ghosts
// four more; with tails instead what RecencyTails takes and four bytes, which knows more.
//
// Who has blocks in the order of their use knows that by himself: the stacks of a host
// (StackMeters), which count in `of`, or a tier whose parts have one VM each (LruParts), which here
// is asked.
class CacheMeters {
 public:
  struct alignas(64) Vm {
    HostReading reading;
    Count held = 0;
    std::uint64_t changed = 0;    // the access that changed this last
    std::uint32_t evictions = 0;  // by number: the last
  };

  CacheMeters(const Accesses& trace, const HostMeterSpec& spec, SeenBytes seen)
      : ghosts_(static_cast<std::uint32_t>(spec.ghosts)),
        tail_(spec.tail),
        owners_(trace),
        seen_(std::move(seen)),
        vms_(trace.vms.size()),
        readings_(trace.vms.size()) {
    const std::vector<std::uint64_t> most = most_blocks(trace);
    marks_ = marks_for(spec, most);
    if (tail_ > 0) {
      const auto table = std::make_shared<SlotTable>(trace.id_count(), kColumns);
      tails_.emplace(TableColumn(table, 0), most);
      tails_->ask(tail_, marks_);
      stacks_ = tails_->stacks();
      notes_.emplace(table, 1);
    } else if (ghosts_ > 0) {
      evicted_ = Pages<std::uint32_t>(trace.id_count());
    }
  }
  static std::vector<std::uint64_t> most_blocks(const Accesses& trace) {
    std::vector<std::uint64_t> most;
    for (const VmInfo& vm : trace.vms) most.push_back(static_cast<std::uint64_t>(vm.unique_blocks));
    return most;
  }
  // The marks that a log needs for ghosts: so many that a VM's blocks are looked through no more
  // often than so many were evicted.
  static std::uint64_t marks_for(const HostMeterSpec& spec, std::span<const std::uint64_t> most) {
    return RecencyTails::Log::marks_for(static_cast<std::uint64_t>(spec.ghosts) +
                                        std::ranges::max(most));
  }

  // An access looked for the block, and it was held. An order has been told before.
  template <Told kTold>
  [[gnu::always_inline]] void hit(VmId vm, const auto& block) {
    HostReading& reading = vms_[vm].reading;
    if (has_order<kTold>()) {
      reading.distinct_hits += std::exchange(note(block), windows_) != windows_ ? 1 : 0;
      reading.tail_hits += order_->was_in_tail() ? 1 : 0;
    } else if (has_tail<kTold>()) {
      reading.distinct_hits += std::exchange(note(block), windows_) != windows_ ? 1 : 0;
      reading.tail_hits += tails_->use(stacks_[vm], block, vms_[vm].held) ? 1 : 0;
    } else {
      const unsigned seen = seen_of<kTold>(block);
      reading.distinct_hits += ~seen & kHit;
      reading.touched += (~seen & kTouched) / kTouched;
      see<kTold>(block, seen | kHit | kTouched);
    }
  }
  // Or it was not, and is from now on.
  template <Told kTold>
  [[gnu::always_inline]] void fetched(VmId vm, const auto& block) {
    if (has_tail<kTold>()) {
      hold(vms_[vm], +1);
      return missed_again(vm, tails_->add(stacks_[vm], block, vms_[vm].held));
    }
    missed<kTold>(vm, block);
    came_in<kTold>(vm, block);
  }
  // Or it was not.
  template <Told kTold>
  [[gnu::always_inline]] void missed(VmId vm, const auto& block) {
    if (has_ghosts<kTold>()) missed_again(vm, std::exchange(mark_of<kTold>(block), 0));
  }
  // It is held from now on.
  template <Told kTold>
  [[gnu::always_inline]] void came_in(VmId vm, const auto& block) {
    hold(vms_[vm], +1);
    if (has_order<kTold>()) return;
    if (has_tail<kTold>()) {
      tails_->add(stacks_[vm], block, vms_[vm].held);
      return;
    }
    if (has_ghosts<kTold>()) evicted_[BlockId(block)] = 0;
    touch<kTold>(vm, block);
  }
  // It is held, and was used for what is no access.
  template <Told kTold>
  [[gnu::always_inline]] void used(VmId vm, const auto& block) {
    if (has_order<kTold>()) return;
    if (has_tail<kTold>()) {
      tails_->use(stacks_[vm], block, vms_[vm].held);
    } else {
      touch<kTold>(vm, block);
    }
  }
  // It was a victim.
  template <Told kTold>
  [[gnu::always_inline]] void evicted(VmId vm, const auto& block) {
    if (!has_ghosts<kTold>()) return left<kTold>(vm, block);
    if (has_order<kTold>()) {
      hold(vms_[vm], -1);
      return mark(order_->log(), vm, block);
    }
    if (has_tail<kTold>()) {
      hold(vms_[vm], -1);
      tails_->remove(stacks_[vm], block, vms_[vm].held, next_mark(tails_->log(), vm));
      return;
    }
    left<kTold>(vm, block);
    evicted_[BlockId(block)] = next_eviction(vm);
  }
  // It is no more held, without having been one.
  template <Told kTold>
  [[gnu::always_inline]] void left(VmId vm, const auto& block) {
    Vm& of = vms_[vm];
    hold(of, -1);
    if (has_order<kTold>()) return;
    if (has_tail<kTold>()) {
      tails_->remove(stacks_[vm], block, of.held);
      return;
    }
    const unsigned seen = seen_of<kTold>(block);
    of.reading.touched -= (seen & kTouched) / kTouched;
    see<kTold>(block, seen & ~kTouched);
  }
  // Towards one of these, of who has no order.
  template <Told kTold>
  [[gnu::always_inline]] void prefetch(BlockId block) const {
    if (has_tail<kTold>()) return tails_->prefetch(block);
    prefetch_seen<kTold>(block);
    if (has_ghosts<kTold>()) prefetch_ghost(block);
  }

  // For whose loop is compiled for what is asked for.
  Told told() const {
    if (tail_ > 0) return Told::kTails;
    return ghosts_ > 0 ? Told::kGhosts : Told::kCounts;
  }

  // What tails, or an order, need of a block: columns of a table in which they could lie beside
  // what a host knows of it. An order has the first.
  static constexpr std::size_t kColumns = 2;
  bool has_tails() const { return tails_.has_value(); }
  void keep_in(const std::shared_ptr<SlotTable>& table, std::size_t column) {
    tails_->keep_in(TableColumn(table, column));
    notes_.emplace(table, column + 1);
  }
  // Nothing is held yet, and the log takes so many marks.
  void take_order(LruParts& order, const std::shared_ptr<SlotTable>& table, std::size_t column) {
    leave_lists(true);
    order_ = &order;
    order.ask(tail_, ghosts_ > 0 ? marks_ : 0);
    order.keep_in(TableColumn(table, column));
    notes_.emplace(table, column + 1);
  }

  // For who knows more by itself: what is asked for, and that lists are left to it, those of
  // ghosts or not.
  std::uint64_t marks() const { return marks_; }
  Count tail() const { return tail_; }
  void leave_lists(bool with_ghosts) {
    tails_.reset();
    stacks_.clear();
    evicted_ = Pages<std::uint32_t>(ghosts_ > 0 && !with_ghosts ? blocks() : 0);
  }
  void mark_in_list(VmId vm, BlockId block) {
    if (ghosts_ > 0) evicted_[BlockId(block)] = next_eviction(vm);
  }
  [[gnu::always_inline]] void missed_in_list(VmId vm, BlockId block) {
    if (ghosts_ > 0) missed_again(vm, std::exchange(evicted_[BlockId(block)], 0));
  }
  Vm& of(VmId vm) { return vms_[vm]; }
  // A hit, as one of a block.
  template <Told kTold>
  [[gnu::always_inline]] void hit_block(VmId vm, BlockId block) {
    const unsigned seen = seen_of<kTold>(block);
    vms_[vm].reading.distinct_hits += ~seen & kHit;
    see<kTold>(block, seen | kHit);
  }
  // Beside are those of tiers.
  template <Told kTold>
  [[gnu::always_inline]] void prefetch_seen(BlockId block) const {
    prefetch_line(&seen_.of<kAlone<kTold>>(block));
  }
  [[gnu::always_inline]] void prefetch_ghost(BlockId block) const {
    if (ghosts_ > 0) prefetch_line(&evicted_[BlockId(block)]);
  }
  // The number of the eviction that comes now. It stays with the block until that is missed, then
  // with 0 if there is none.
  [[gnu::always_inline]] std::uint32_t next_eviction(VmId vm) { return ++vms_[vm].evictions; }
  [[gnu::always_inline]] void missed_again(VmId vm, std::uint32_t evicted) {
    const bool recent = vms_[vm].evictions - evicted < ghosts_;
    vms_[vm].reading.ghost_hits += static_cast<Count>(recent & (evicted != 0));
  }
  // The same in the log that the block left. When numbers are used up they begin again, so much
  // lower: only those of ghosts are above that.
  template <class Log>
  [[gnu::always_inline]] void mark(Log& log, VmId vm, const auto& block) {
    log.mark(block, next_mark(log, vm));
  }

  // An access is over, and with it what had to leave for its block.
  void settle() { ++now_; }
  // After that.
  std::span<const HostReading> readings() {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      readings_[vm] = vms_[vm].reading;
      readings_[vm].peak = std::max(readings_[vm].peak, vms_[vm].held);
      if (tails_) readings_[vm].touched = tails_->used(stacks_[vm]);
    }
    return readings_;
  }
  void begin_window() {
    for (Vm& vm : vms_) vm.reading = {.peak = vm.held};
    for (RecencyTails::Stack& stack : stacks_) RecencyTails::begin_window(stack);
    ++windows_;
    window_ += kWindow;
    if (window_ <= kLastWindow) return;
    seen_.clear();
    window_ = kWindow;
  }

 private:
  // In a byte are a window, by its number since all were cleared, and what was seen of the block
  // then.
  static constexpr unsigned kHit = 1;
  static constexpr unsigned kTouched = 2;
  static constexpr unsigned kWindow = 4;
  static constexpr unsigned kLastWindow = 63 * kWindow;
  // Whether there are no other caches' bytes beside.
  template <Told kTold>
  static constexpr bool kAlone = kTold != Told::kTiers && kTold != Told::kAll;

  // Bytes of earlier windows are less than the window.
  template <Told kTold>
  unsigned seen_of(BlockId block) const {
    return std::max<unsigned>(seen_.of<kAlone<kTold>>(block), window_);
  }
  template <Told kTold>
  void see(BlockId block, unsigned seen) {
    seen_.of<kAlone<kTold>>(block) = static_cast<std::uint8_t>(seen);
  }

  template <Told kTold>
  [[gnu::always_inline]] void touch(VmId vm, BlockId block) {
    const unsigned seen = seen_of<kTold>(block);
    vms_[vm].reading.touched += (~seen & kTouched) / kTouched;
    see<kTold>(block, seen | kTouched);
  }

  template <Told kTold>
  bool has_ghosts() const {
    return kTold == Told::kGhosts ||
           ((kTold == Told::kTails || kTold == Told::kOrdered || kTold == Told::kAll) &&
            ghosts_ > 0);
  }
  template <Told kTold>
  bool has_order() const {
    return kTold == Told::kOrdered || (kTold == Told::kAll && order_ != nullptr);
  }
  template <Told kTold>
  bool has_tail() const {
    return kTold == Told::kTails || (kTold == Told::kAll && tails_);
  }
  // The number of its eviction, of a block that is not held.
  template <Told kTold>
  [[gnu::always_inline]] std::uint32_t& mark_of(const auto& block) {
    if (has_order<kTold>()) return order_->log().mark(block);
    return has_tail<kTold>() ? tails_->log().mark(block) : evicted_[BlockId(block)];
  }
  // The window that the block was hit in last.
  std::uint32_t& note(BlockId block) { return (*notes_)[block]; }
  static std::uint32_t& note(TableEntry block) { return *block.beside(1).word; }
  std::size_t blocks() const { return owners_.end_of(vms_.size() - 1); }
  template <class Log>
  [[gnu::always_inline]] std::uint32_t next_mark(Log& log, VmId vm) {
    if (next_eviction(vm) == log.marks()) [[unlikely]]
      begin_numbers(log, vm);
    return vms_[vm].evictions;
  }
  template <class Log>
  [[gnu::noinline]] void begin_numbers(Log& log, VmId vm) {
    const std::uint32_t lower = std::exchange(vms_[vm].evictions, ghosts_) - ghosts_;
    log.lower_marks(owners_.first_of(vm), owners_.end_of(vm), lower);
  }

  // Of what is held between two accesses the most counts: what the first change of an access
  // finds, and what is there in the end.
  [[gnu::always_inline]] void hold(Vm& of, Count change) {
    if (of.changed != now_) {
      of.changed = now_;
      of.reading.peak = std::max(of.reading.peak, of.held);
    }
    of.held += change;
  }

  std::uint32_t ghosts_;
  Count tail_;
  std::uint64_t marks_ = 0;
  BlockOwners owners_;
  std::uint32_t windows_ = 1;  // that began
  unsigned window_ = kWindow;  // this one, in a byte
  std::uint64_t now_ = 1;      // accesses that were settled
  SeenBytes seen_;
  Pages<std::uint32_t> evicted_;  // by block: the VM's how-manieth eviction; 0 if it came back
  std::vector<Vm> vms_;
  std::vector<HostReading> readings_;  // as they were read
  std::optional<RecencyTails> tails_;  // if somebody asks for them, and
  std::vector<RecencyTails::Stack> stacks_;
  LruParts* order_ = nullptr;         // there is none
  std::optional<TableColumn> notes_;  // beside one of these
};

// Told by a host what becomes of every access, if it is attached to one: of all tiers as one
// cache; or of each tier as of a cache alone with what reaches it, which are the accesses that no
// faster one served, and blocks that come in or are used, whatever brings them: an access, a victim
// of a faster tier, a write around to a copy.
//
//            of all tiers                        of a tier
//   hit      a tier had the block                it served the access: no faster one had the block
//   miss     none had                            it was asked, and had not
//   touched  accessed, and held                  reached it, and held in it
//   evicted  a victim, and then nowhere held     a victim of the tier, gone or gone down
//   left     out of date, or its VM is gone      also: gone up, or with another copy
//
// Tails are by when a block last was touched; the peak is taken between accesses.
class HostMeters {
 public:
  // Who has blocks in the order of their use: what was touched is counted when it is read.
  class Uses {
   public:
    // Sets what of each VM was touched, and what is held where that is not counted.
    virtual void count() = 0;
    virtual void begin_window() = 0;

   protected:
    ~Uses() = default;
  };

  HostMeters(const Accesses& trace, const HostMeterSpec& spec, std::size_t tiers)
      : backend_(tiers), by_tier_(spec.by == MeteredBy::kTier) {
    const std::size_t caches = by_tier_ ? tiers : 1;
    const SeenBytes seen(trace.id_count(), caches);
    for (std::size_t k = 0; k < caches; ++k) caches_.emplace_back(trace, spec, seen.beside(k));
  }
  static absl::Status check(const Accesses& trace, const HostMeterSpec& spec) {
    const std::vector<std::uint64_t> most = CacheMeters::most_blocks(trace);
    const std::uint64_t entries = RecencyTails::entries(most) + CacheMeters::marks_for(spec, most);
    if (spec.tail == 0 || entries < kNoBlock) return absl::OkStatus();
    return absl::ResourceExhaustedError(fmt::format(
        "host meter: tails need {} log entries, more than 2^32: use a larger block size", entries));
  }

  // One of all tiers, or one a tier.
  bool by_tier() const { return by_tier_; }
  std::span<CacheMeters> caches() { return caches_; }
  std::span<const CacheMeters> caches() const { return caches_; }
  // Of a host that needs no lists for any, but for ghosts by tier in all but the last.
  void leave_lists(Uses& uses) {
    uses_ = &uses;
    for (CacheMeters& cache : caches_) cache.leave_lists(&cache == &caches_.back());
  }
  // Of a host whose tiers all have an order.
  void take_orders(Uses& uses) {
    uses_ = &uses;
    ordered_ = true;
  }

  // The VM asked for the block: a tier had it, or none (the number of tiers), and from now on
  // some tier has or none. Tiers were asked from the fastest on.
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void access(VmId vm, const auto& block, std::size_t found, bool held) {
    settle<kTold>();
    if (!asks_tiers<kTold>()) return access_whole<kTold>(vm, block, found < backend_, held);
    for (std::size_t k = 0; k < backend_ && k <= found; ++k) asked<kTold>(k, vm, block, k == found);
  }
  // The same if each tier that was asked is told of alone, after settle.
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void access_whole(VmId vm, const auto& block, bool hit, bool held) {
    if (asks_tiers<kTold>()) return;
    if (hit) return whole().template hit<kTold>(vm, block);
    held ? whole().template fetched<kTold>(vm, block) : whole().template missed<kTold>(vm, block);
  }
  // It will be written around all tiers, of which so the fastest has it: that is hit where copies
  // are updated, and looked at if it has an order; where they leave, nobody is asked.
  template <Told kTold = Told::kAll>
  void around(VmId vm, const auto& block, std::size_t found, bool updated) {
    if (!updated) return left<kTold>(vm, block);
    settle<kTold>();
    access_whole<kTold>(vm, block, true, true);
    asked<kTold>(found, vm, block, true);
  }
  // It was a victim, and is in no tier any more.
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void evicted(VmId vm, const auto& block) {
    if (!asks_tiers<kTold>()) whole().template evicted<kTold>(vm, block);
  }
  // It leaves all tiers, and not for an access.
  template <Told kTold = Told::kAll>
  void left(VmId vm, const auto& block) {
    settle<kTold>();
    if (!asks_tiers<kTold>()) whole().template left<kTold>(vm, block);
  }
  // An access is over. To be called before anything but an access makes victims.
  template <Told kTold = Told::kAll>
  void settle() {
    if (!asks_tiers<kTold>()) return whole().settle();
    for (CacheMeters& tier : caches_) tier.settle();
  }

  // Of a tier, after what is above was told. One that has an order did it before. Who compiled for
  // tiers that have their blocks in order tells a block by its row in their table.
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void asked(std::size_t k, VmId vm, const auto& block, bool hit) {
    if (!asks_tiers<kTold>()) return;
    hit ? tier(k).template hit<kTold>(vm, in_tier<kTold>(k, block))
        : tier(k).template missed<kTold>(vm, in_tier<kTold>(k, block));
  }
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void came_in(std::size_t k, VmId vm, const auto& block) {
    if (asks_tiers<kTold>()) tier(k).template came_in<kTold>(vm, in_tier<kTold>(k, block));
  }
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void used(std::size_t k, VmId vm, const auto& block) {
    if (asks_tiers<kTold>()) tier(k).template used<kTold>(vm, in_tier<kTold>(k, block));
  }
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void evicted_from(std::size_t k, VmId vm, const auto& block) {
    if (asks_tiers<kTold>()) tier(k).template evicted<kTold>(vm, in_tier<kTold>(k, block));
  }
  template <Told kTold = Told::kAll>
  [[gnu::always_inline]] void left_from(std::size_t k, VmId vm, const auto& block) {
    if (asks_tiers<kTold>()) tier(k).template left<kTold>(vm, in_tier<kTold>(k, block));
  }

  // Towards a block that one of these will be of.
  template <Told kTold = Told::kAll>
  void prefetch(BlockId block) const {
    if (kTold == Told::kOrdered || (kTold == Told::kAll && ordered_)) return;
    for (const CacheMeters& cache : caches_) {
      cache.prefetch<kTold>(block);
      // Tiers have their bytes side by side.
      if (kTold != Told::kAll) return;
    }
  }

  Told told() const {
    if (!by_tier_) return caches_[0].told();
    if (ordered_) return Told::kOrdered;
    return caches_[0].told() == Told::kCounts ? Told::kTiers : Told::kAll;
  }
  // Of all tiers together, or by tier; none of what was not asked for.
  std::span<const HostReading> readings() {
    if (by_tier_) return {};
    if (uses_ != nullptr) uses_->count();
    return whole().readings();
  }
  using ByTier = std::vector<std::span<const HostReading>>;
  ByTier readings_by_tier() {
    if (!by_tier_) return {};
    if (uses_ != nullptr) uses_->count();
    ByTier all;
    for (CacheMeters& tier : caches_) all.push_back(tier.readings());
    return all;
  }
  // The timer rang: the next window begins.
  void begin_window() {
    if (uses_ != nullptr) uses_->count();
    for (CacheMeters& cache : caches_) cache.begin_window();
    if (uses_ != nullptr) uses_->begin_window();
  }

 private:
  template <Told kTold>
  bool asks_tiers() const {
    return kTold == Told::kTiers || kTold == Told::kOrdered || (kTold == Told::kAll && by_tier_);
  }
  CacheMeters& whole() { return caches_[0]; }
  CacheMeters& tier(std::size_t k) { return caches_[k]; }
  template <Told kTold>
  static auto in_tier(std::size_t k, const auto& block) {
    if constexpr (kTold == Told::kOrdered) {
      return block.beside(CacheMeters::kColumns * k);
    } else {
      return BlockId(block);
    }
  }

  std::size_t backend_;
  bool by_tier_;
  bool ordered_ = false;
  std::vector<CacheMeters> caches_;
  Uses* uses_ = nullptr;  // the host, if it is one of those
};

}  // namespace mcsim
