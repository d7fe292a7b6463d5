#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/params.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Statistics on the blocks of one VM in all tiers of a host together, since the probe's timer last
// fired.
struct ProbeReading {
  Count distinct_hits = 0;  // blocks that were hit at least once
  Count touched = 0;        // blocks held at the end that were accessed or came in
  Count peak = 0;           // largest number of blocks held between two accesses
  friend bool operator==(const ProbeReading&, const ProbeReading&) = default;
};

// The declaration of a probe by a system.
struct ProbeSpec {
  std::size_t timer = 0;  // the timer that reads it

  static constexpr ComponentInfo kInfo{
      .name = "host",
      .summary =
          "What only the cache knows: distinct blocks hit, blocks touched, most blocks held.",
      .reference = "no publication: counts of the cache"};
  static constexpr auto fields() { return std::tuple{}; }
};

// Counts the blocks of each VM in the tiers of a host. The host reports every access, and every
// block that leaves its last tier. Memory: one byte per block of the trace, with the window in
// which the block was last seen, and how.
class CacheProbe {
 public:
  explicit CacheProbe(const Accesses& trace)
      : seen_(trace.id_count()), vms_(trace.vms.size()), readings_(trace.vms.size()) {}

  // Record an access that found the block in a tier.
  [[gnu::always_inline]] void hit(VmId vm, BlockId block) {
    const unsigned seen = seen_in_window(block);
    ProbeReading& reading = vms_[vm].reading;
    reading.distinct_hits += ~seen & kHit;
    reading.touched += (~seen & kTouched) / kTouched;
    seen_[block] = static_cast<std::uint8_t>(seen | kHit | kTouched);
  }
  // Record an access that found the block in no tier and inserted it.
  [[gnu::always_inline]] void inserted(VmId vm, BlockId block) {
    const unsigned seen = seen_in_window(block);
    ++vms_[vm].held;
    vms_[vm].reading.touched += (~seen & kTouched) / kTouched;
    seen_[block] = static_cast<std::uint8_t>(seen | kTouched);
  }
  // Record that no tier holds the block any more.
  [[gnu::always_inline]] void removed(VmId vm, BlockId block) {
    assert(vms_[vm].held > 0);
    const unsigned seen = seen_in_window(block);
    --vms_[vm].held;
    vms_[vm].reading.touched -= (seen & kTouched) / kTouched;
    seen_[block] = static_cast<std::uint8_t>(seen & ~kTouched);
  }
  // Record the end of an access that inserted a block, including its evictions.
  [[gnu::always_inline]] void end_insertion(VmId vm) {
    vms_[vm].reading.peak = std::max(vms_[vm].reading.peak, vms_[vm].held);
  }
  void prefetch(BlockId block) const { prefetch_line(&seen_[block]); }

  // By VM.
  std::span<const ProbeReading> readings() {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) readings_[vm] = vms_[vm].reading;
    return readings_;
  }
  void begin_window() {
    for (Vm& vm : vms_) vm.reading = {.peak = vm.held};
    window_ += kWindow;
    if (window_ <= kLastWindow) return;
    std::ranges::fill(seen_, std::uint8_t{0});
    window_ = kWindow;
  }

 private:
  // The two low bits of a byte are flags; the other bits are the number of the window, counted
  // since all bytes were cleared.
  static constexpr unsigned kHit = 1;
  static constexpr unsigned kTouched = 2;
  static constexpr unsigned kWindow = 4;
  static constexpr unsigned kLastWindow = 63 * kWindow;

  struct alignas(64) Vm {
    ProbeReading reading;
    Count held = 0;
  };

  // Bytes of earlier windows are less than the number of the current window.
  unsigned seen_in_window(BlockId block) const { return std::max<unsigned>(seen_[block], window_); }

  Pages<std::uint8_t> seen_;
  unsigned window_ = kWindow;
  std::vector<Vm> vms_;
  std::vector<ProbeReading> readings_;
};

}  // namespace mcsim
