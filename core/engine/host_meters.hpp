#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/params.hpp"
#include "core/base/types.hpp"
#include "core/containers/recency_tails.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// What only the cache knows of a VM, since its timer rang last; all tiers together are one cache.
struct HostReading {
  Count distinct_hits = 0;  // blocks that were hit
  Count touched = 0;        // blocks held at the end that were accessed
  Count ghost_hits = 0;     // misses of blocks among the last so many that were evicted
  Count peak = 0;           // most blocks held at a time
  Count tail_hits = 0;      // hits of the so many blocks held that were accessed least recently
  friend bool operator==(const HostReading&, const HostReading&) = default;
};

// What a system wants to know of that.
struct HostMeterSpec {
  Count ghosts = 0;
  Count tail = 0;
  std::size_t timer = 0;  // that reads it

  static constexpr ComponentInfo kInfo{
      .name = "host",
      .summary = "What only the cache knows: blocks hit, touched, missed again; the most held.",
      .reference = "no publication: counts of the cache; ghosts as in ARC (FAST 2003)"};
  static constexpr auto fields() {
    return std::tuple{
        Field{"ghosts", &HostMeterSpec::ghosts,
              "a miss of one of the VM's last so many evicted blocks is a ghost hit", 0, 1 << 30},
        Field{"tail", &HostMeterSpec::tail,
              "a hit of one of the so many blocks that the VM accessed least "
              "recently, of those it holds, is a tail hit",
              0, 1 << 30}};
  }
};

// Told by a host what becomes of every access, if it is attached to one. Eight bytes a block of
// the trace, and nine more for tails.
class HostMeters {
 public:
  HostMeters(const Accesses& trace, const HostMeterSpec& spec)
      : ghosts_(static_cast<std::uint32_t>(spec.ghosts)),
        seen_(trace.id_count()),
        evicted_(ghosts_ > 0 ? trace.id_count() : 0),
        vms_(trace.vms.size()),
        readings_(trace.vms.size()) {
    if (spec.tail > 0) tails_.emplace(trace.id_count(), trace.vms.size(), spec.tail);
  }

  // The VM asked for the block: it was held or not, and from now on is or not.
  void access(VmId vm, BlockId block, bool hit, bool held) {
    settle();
    current_ = vm;
    std::uint32_t seen = seen_[block] >> kMarks == window_ ? seen_[block] : window_ << kMarks;
    HostReading& reading = readings_[vm];
    if (hit && (seen & kHit) == 0) {
      seen |= kHit;
      ++reading.distinct_hits;
    }
    if (held && (seen & kTouched) == 0) {
      seen |= kTouched;
      ++reading.touched;
    }
    seen_[block] = seen;
    if (tails_ && held) reading.tail_hits += tails_->use(vm, block) ? 1 : 0;
    if (hit) return;
    if (ghosts_ > 0) look_for_ghost(vm, block);
    if (held) ++vms_[vm].held;
  }
  // It was a victim.
  void evicted(VmId vm, BlockId block) {
    leaves(vm, block);
    if (ghosts_ > 0) evicted_[block] = ++vms_[vm].evictions;
  }
  // It is out of date, or its VM is gone; not for the sake of an access.
  void left(VmId vm, BlockId block) {
    settle();
    leaves(vm, block);
  }
  // The last access is over, and with it what had to leave for its block: to be called before
  // anything else makes victims.
  void settle() {
    Count& peak = readings_[current_].peak;
    peak = std::max(peak, vms_[current_].held);
  }

  std::span<const HostReading> readings() {
    settle();
    return readings_;
  }
  // The timer rang: the next window begins.
  void begin_window() {
    ++window_;
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) readings_[vm] = {.peak = vms_[vm].held};
  }

 private:
  static constexpr std::uint32_t kHit = 1;
  static constexpr std::uint32_t kTouched = 2;
  static constexpr int kMarks = 2;  // bits

  struct Vm {
    Count held = 0;
    std::uint32_t evictions = 0;
  };

  void leaves(VmId vm, BlockId block) {
    --vms_[vm].held;
    if (tails_) tails_->remove(vm, block);
    if (seen_[block] >> kMarks != window_ || (seen_[block] & kTouched) == 0) return;
    seen_[block] &= ~kTouched;
    --readings_[vm].touched;
  }

  void look_for_ghost(VmId vm, BlockId block) {
    if (evicted_[block] == 0) return;
    const std::uint32_t since = vms_[vm].evictions - evicted_[block];
    readings_[vm].ghost_hits += since < ghosts_ ? 1 : 0;
    evicted_[block] = 0;
  }

  std::uint32_t ghosts_;
  std::uint32_t window_ = 1;
  std::size_t current_ = 0;       // VM of the last access
  Pages<std::uint32_t> seen_;     // by block: in which window, and what was seen of it then
  Pages<std::uint32_t> evicted_;  // by block: the VM's how-manieth eviction; 0 if it came back
  std::vector<Vm> vms_;
  std::vector<HostReading> readings_;
  std::optional<RecencyTails> tails_;  // if somebody asks for them
};

}  // namespace mcsim
