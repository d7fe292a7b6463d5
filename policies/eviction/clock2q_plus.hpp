#pragma once

#include "policies/eviction/s3_fifo.hpp"

namespace mcsim {

// Clock2Q+: a small FIFO before a CLOCK with one mark a block. A hit in the small queue counts only
// if as many blocks as the window has were inserted there since, so that accesses that belong
// together count once. Until the first eviction, new blocks that find the small queue full enter
// the main queue.
//
// O(1) per access, amortised; 14 bytes per block held or remembered.
class Clock2QPlus : public SmallAndMain<CountedHits::kAfterWindow> {
 public:
  struct Params {
    double small = 0.1;
    double window = 0.5;
    Count promote_at = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"small", &Params::small, "share of the capacity of the small queue", 0, 1},
          Field{"window", &Params::window,
                "insertions into the small queue during which hits do not count, as a share of it",
                0, 1},
          Field{"promote_at", &Params::promote_at,
                "number of hits that count, which move a block to the main queue", 1, 3}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "clock2q-plus",
      .summary =
          "Filters new blocks in a small FIFO, where quick hits do not count, before a CLOCK.",
      .reference = "libCacheSim, Clock2QPlus.c, the policy of vSAN"};

  Clock2QPlus(const Params& params, const PolicySetup& setup)
      : SmallAndMain({.small = params.small,
                      .promote_at = params.promote_at,
                      .variant = S3Variant::kLibCacheSim,
                      .window = params.window},
                     setup) {}
};

}  // namespace mcsim
