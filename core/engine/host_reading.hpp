#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// What only the cache knows of a VM, since its timer rang last. A cache are all tiers together, or
// a tier alone (HostMeters).
struct HostReading {
  Count distinct_hits = 0;  // blocks that were hit
  Count touched = 0;        // blocks held at the end that were accessed
  Count ghost_hits = 0;     // misses of blocks among the last so many that were evicted
  Count peak = 0;           // most blocks held at a time
  Count tail_hits = 0;      // hits of the so many blocks held that were accessed least recently
  friend bool operator==(const HostReading&, const HostReading&) = default;
};

// What there are readings of: VMs, or what they have in each tier.
enum class MeteredBy : std::uint8_t { kVm, kTier };

template <>
struct Choices<MeteredBy> {
  static constexpr std::array names{std::pair{"vm", MeteredBy::kVm},
                                    std::pair{"tier", MeteredBy::kTier}};
};

// What a system wants to know of that.
struct HostMeterSpec {
  Count ghosts = 0;
  Count tail = 0;
  MeteredBy by = MeteredBy::kVm;
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
              0, 1 << 30},
        Field{"by", &HostMeterSpec::by,
              "with vm of all tiers together, with tier of each, as of a cache alone with what "
              "reaches it"}};
  }
};

}  // namespace mcsim
