#pragma once

#include <algorithm>
#include <cstdint>
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
#include "core/engine/host_reading.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// What is asked of who replays, besides.
enum class Told : std::uint8_t {
  kNothing,
  kCounts,  // of blocks, in all tiers together
  kGhosts,  // the same, and misses of what was evicted
  kTails,   // the same, and hits of what was accessed least recently
  kTiers,   // all of it, also by tier
};

// One cache, and what is known of each VM's blocks in it. A byte a block of the trace, with ghosts
// four more; with tails what RecencyTails takes.
//
// A host that has blocks in the order of their use knows more by itself (StackMeters): it lets go
// of lists that it has no need of, and counts in `of`.
class CacheMeters {
 public:
  struct alignas(64) Vm {
    HostReading reading;
    Count held = 0;
    std::uint64_t changed = 0;    // the access that changed this last
    std::uint32_t evictions = 0;  // by number: the last
  };

  CacheMeters(const Accesses& trace, const HostMeterSpec& spec)
      : ghosts_(static_cast<std::uint32_t>(spec.ghosts)),
        tail_(spec.tail),
        seen_(trace.id_count()),
        evicted_(ghosts_ > 0 ? trace.id_count() : 0),
        vms_(trace.vms.size()),
        readings_(trace.vms.size()) {
    if (spec.tail > 0) tails_.emplace(trace.id_count(), most_blocks(trace), spec.tail);
  }
  static std::vector<std::uint64_t> most_blocks(const Accesses& trace) {
    std::vector<std::uint64_t> most;
    for (const VmInfo& vm : trace.vms) most.push_back(static_cast<std::uint64_t>(vm.unique_blocks));
    return most;
  }

  // An access looked for the block, and it was held.
  [[gnu::always_inline]] void hit(VmId vm, BlockId block) {
    HostReading& reading = vms_[vm].reading;
    const unsigned seen = seen_of(block);
    reading.distinct_hits += ~seen & kHit;
    reading.touched += (~seen & kTouched) / kTouched;
    see(block, seen | kHit | kTouched);
    if (tails_) reading.tail_hits += use(vm, block) ? 1 : 0;
  }
  // Or it was not.
  [[gnu::always_inline]] void missed(VmId vm, BlockId block) {
    if (ghosts_ > 0) missed_again(vm, std::exchange(evicted_[block], 0));
  }
  // It is held from now on.
  [[gnu::always_inline]] void came_in(VmId vm, BlockId block) {
    hold(vms_[vm], +1);
    if (ghosts_ > 0) evicted_[block] = 0;
    used(vm, block);
  }
  // It is held, and was used for what is no access.
  [[gnu::always_inline]] void used(VmId vm, BlockId block) {
    const unsigned seen = seen_of(block);
    vms_[vm].reading.touched += (~seen & kTouched) / kTouched;
    see(block, seen | kTouched);
    if (tails_) use(vm, block);
  }
  // It was a victim.
  [[gnu::always_inline]] void evicted(VmId vm, BlockId block) {
    left(vm, block);
    if (ghosts_ > 0) evicted_[block] = next_eviction(vm);
  }
  // It is no more held, without having been one.
  [[gnu::always_inline]] void left(VmId vm, BlockId block) {
    Vm& of = vms_[vm];
    hold(of, -1);
    const unsigned seen = seen_of(block);
    of.reading.touched -= (seen & kTouched) / kTouched;
    see(block, seen & ~kTouched);
    if (tails_) forget(vm, block);
  }
  // Towards one of these.
  [[gnu::always_inline]] void prefetch(BlockId block) const {
    prefetch_line(&seen_[block]);
    if (ghosts_ > 0) prefetch_line(&evicted_[block]);
    if (tails_) tails_->prefetch(block);
  }

  // For whose loop is compiled for what is asked for; and that it is, for the compiler.
  Told told() const {
    if (tail_ > 0) return Told::kTails;
    return ghosts_ > 0 ? Told::kGhosts : Told::kCounts;
  }
  [[gnu::always_inline]] void assume(Told told) const {
    if (told == Told::kCounts && ghosts_ > 0) __builtin_unreachable();
    if (told == Told::kGhosts && ghosts_ == 0) __builtin_unreachable();
    if (tails_.has_value() != (told == Told::kTails)) __builtin_unreachable();
  }

  // For who knows more by itself: what is asked for, that lists are left to it, and how many
  // windows began.
  std::uint32_t ghosts() const { return ghosts_; }
  Count tail() const { return tail_; }
  void leave_lists() {
    evicted_ = {};
    tails_.reset();
  }
  std::uint64_t windows() const { return windows_; }

  Vm& of(VmId vm) { return vms_[vm]; }
  // A hit, as one of a block.
  [[gnu::always_inline]] void hit_block(VmId vm, BlockId block) {
    const unsigned seen = seen_of(block);
    vms_[vm].reading.distinct_hits += ~seen & kHit;
    see(block, seen | kHit);
  }
  [[gnu::always_inline]] void prefetch_seen(BlockId block) const { prefetch_line(&seen_[block]); }
  // The number of the eviction that comes now. It stays with the block until that is missed, then
  // with 0 if there is none.
  [[gnu::always_inline]] std::uint32_t next_eviction(VmId vm) { return ++vms_[vm].evictions; }
  [[gnu::always_inline]] void missed_again(VmId vm, std::uint32_t evicted) {
    const bool recent = vms_[vm].evictions - evicted < ghosts_;
    vms_[vm].reading.ghost_hits += static_cast<Count>(recent & (evicted != 0));
  }
  // Numbers begin again, so much lower: only those of ghosts are above that.
  std::uint32_t renumber(VmId vm) { return std::exchange(vms_[vm].evictions, ghosts_) - ghosts_; }

  // An access is over, and with it what had to leave for its block.
  void settle() { ++now_; }
  // After that.
  std::span<const HostReading> readings() {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
      readings_[vm] = vms_[vm].reading;
      readings_[vm].peak = std::max(readings_[vm].peak, vms_[vm].held);
    }
    return readings_;
  }
  void begin_window() {
    ++windows_;
    for (Vm& vm : vms_) vm.reading = {.peak = vm.held};
    window_ += kWindow;
    if (window_ <= kLastWindow) return;
    std::ranges::fill(seen_, std::uint8_t{0});
    window_ = kWindow;
  }

 private:
  // In a byte are a window, by its number since all were cleared, and what was seen of the block
  // then.
  static constexpr unsigned kHit = 1;
  static constexpr unsigned kTouched = 2;
  static constexpr unsigned kWindow = 4;
  static constexpr unsigned kLastWindow = 63 * kWindow;

  // Bytes of earlier windows are less than the window.
  unsigned seen_of(BlockId block) const { return std::max<unsigned>(seen_[block], window_); }
  void see(BlockId block, unsigned seen) { seen_[block] = static_cast<std::uint8_t>(seen); }

  // Of tails. Apart, so that who has none is not slowed by their length.
  [[gnu::noinline]] bool use(VmId vm, BlockId block) { return tails_->use(vm, block); }
  [[gnu::noinline]] void forget(VmId vm, BlockId block) { tails_->remove(vm, block); }

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
  std::uint64_t windows_ = 0;
  unsigned window_ = kWindow;
  std::uint64_t now_ = 1;         // accesses that were settled
  Pages<std::uint8_t> seen_;      // by block
  Pages<std::uint32_t> evicted_;  // by block: the VM's how-manieth eviction; 0 if it came back
  std::vector<Vm> vms_;
  std::vector<HostReading> readings_;  // as they were read
  std::optional<RecencyTails> tails_;  // if somebody asks for them
};

// Told by a host what becomes of every access, if it is attached to one: of all tiers as one
// cache, and of each tier, if that is asked for, as of a cache alone with what reaches it. What
// reaches a tier are the accesses that no faster one served, and blocks that come in or are used,
// whatever brings them: an access, a victim of a faster tier, a write around to a copy.
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
  HostMeters(const Accesses& trace, const HostMeterSpec& spec, std::size_t tiers)
      : backend_(tiers), whole_(trace, spec) {
    if (spec.by != MeteredBy::kTier) return;
    for (std::size_t k = 0; k < tiers; ++k) tiers_.emplace_back(trace, spec);
  }
  static absl::Status check(const Accesses& trace, const HostMeterSpec& spec) {
    const std::uint64_t entries = RecencyTails::entries(CacheMeters::most_blocks(trace));
    if (spec.tail == 0 || entries < kNoBlock) return absl::OkStatus();
    return absl::ResourceExhaustedError(fmt::format(
        "host meter: tails need {} log entries, more than 2^32: use a larger block size", entries));
  }

  // All tiers as one cache: for who need not say what becomes of each.
  CacheMeters& whole() { return whole_; }

  // The VM asked for the block: a tier had it, or none (the number of tiers), and from now on
  // some tier has or none. Tiers were asked from the fastest on.
  void access(VmId vm, BlockId block, std::size_t found, bool held) {
    access_whole(vm, block, found < backend_, held);
    if (by_tier()) ask_tiers(vm, block, found);
  }
  // The same, and each tier that was asked is told of alone.
  void access_whole(VmId vm, BlockId block, bool hit, bool held) {
    settle();
    if (hit) return whole_.hit(vm, block);
    whole_.missed(vm, block);
    if (held) whole_.came_in(vm, block);
  }
  // It was written around all tiers, of which so the fastest had it: that is hit where copies are
  // updated; where they leave, nobody is asked.
  void around(VmId vm, BlockId block, std::size_t found, bool updated) {
    if (found == backend_) return;
    if (!updated) return left(vm, block);
    access_whole(vm, block, true, true);
    asked(found, vm, block, true);
  }
  // It was a victim, and is in no tier any more.
  void evicted(VmId vm, BlockId block) { whole_.evicted(vm, block); }
  // It leaves all tiers, and not for an access.
  void left(VmId vm, BlockId block) {
    settle();
    whole_.left(vm, block);
  }
  // An access is over. To be called before anything but an access makes victims.
  void settle() {
    whole_.settle();
    for (CacheMeters& tier : tiers_) tier.settle();
  }

  // Of a tier, after what is above was told.
  void asked(std::size_t tier, VmId vm, BlockId block, bool hit) {
    if (by_tier()) hit ? tiers_[tier].hit(vm, block) : tiers_[tier].missed(vm, block);
  }
  void came_in(std::size_t tier, VmId vm, BlockId block) {
    if (by_tier()) tiers_[tier].came_in(vm, block);
  }
  void used(std::size_t tier, VmId vm, BlockId block) {
    if (by_tier()) tiers_[tier].used(vm, block);
  }
  void evicted_from(std::size_t tier, VmId vm, BlockId block) {
    if (by_tier()) tiers_[tier].evicted(vm, block);
  }
  void left_from(std::size_t tier, VmId vm, BlockId block) {
    if (by_tier()) tiers_[tier].left(vm, block);
  }

  // Towards a block that one of these will be of.
  void prefetch(BlockId block) const {
    whole_.prefetch(block);
    for (const CacheMeters& tier : tiers_) tier.prefetch(block);
  }

  bool by_tier() const { return !tiers_.empty(); }
  Told told() const { return by_tier() ? Told::kTiers : whole_.told(); }
  // For the compiler, of who knows.
  [[gnu::always_inline]] void assume(Told told) const {
    if (by_tier() != (told == Told::kTiers)) __builtin_unreachable();
    if (told != Told::kTiers) whole_.assume(told);
  }
  std::span<const HostReading> readings() { return whole_.readings(); }
  // By tier, if that was asked for.
  using ByTier = std::vector<std::span<const HostReading>>;
  ByTier readings_by_tier() {
    ByTier all;
    for (CacheMeters& tier : tiers_) all.push_back(tier.readings());
    return all;
  }
  // The timer rang: the next window begins.
  void begin_window() {
    whole_.begin_window();
    for (CacheMeters& tier : tiers_) tier.begin_window();
  }

 private:
  void ask_tiers(VmId vm, BlockId block, std::size_t found) {
    for (std::size_t k = 0; k < backend_ && k <= found; ++k) asked(k, vm, block, k == found);
  }

  std::size_t backend_;
  CacheMeters whole_;
  std::vector<CacheMeters> tiers_;  // none unless asked for
};

}  // namespace mcsim
