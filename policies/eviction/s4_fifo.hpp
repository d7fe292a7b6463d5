#pragma once

#include "policies/eviction/s3_fifo.hpp"

namespace mcsim {

// S4-FIFO: S3-FIFO as in libCacheSim, with two more parameters. Hits on the newest blocks of the
// small queue, a share of its length, do not count. With a ghost threshold above 0, an accessed
// ghost enters the small queue as any other block, so that ghosts have no effect. The model that
// learns the parameters is left out.
//
// O(1) per access, amortised; 14 bytes per block held or remembered.
class S4Fifo : public SmallAndMain<CountedHits::kAfterShare> {
 public:
  struct Params {
    double small = 0.1;
    double ghosts = 0.9;
    Count promote_at = 2;
    Count ghost_threshold = 0;
    double skip = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"small", &Params::small, "share of the capacity of the small queue", 0, 1},
          Field{"ghosts", &Params::ghosts, "share of the capacity of the ghosts", 0, 16},
          Field{"promote_at", &Params::promote_at,
                "number of hits in the small queue that count, which move a block to the main "
                "queue",
                1, 3},
          Field{"ghost_threshold", &Params::ghost_threshold,
                "0: an accessed ghost enters the main queue; above: the small queue", 0, 255},
          Field{"skip", &Params::skip,
                "share of the small queue, of its newest blocks, on which hits do not count", 0,
                1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "s4-fifo",
      .summary = "Generalises S3-FIFO: hits on the newest blocks need not count, nor ghosts.",
      .reference =
          "Learning-augmented heuristics: simple, yet smart, robust and interpretable cache "
          "eviction, OSDI 2026; libCacheSim, S4FIFO.c"};

  S4Fifo(const Params& params, const PolicySetup& setup)
      : SmallAndMain({.small = params.small,
                      .promote_at = params.promote_at,
                      .variant = S3Variant::kLibCacheSim,
                      .window = params.skip,
                      .ghosts = params.ghost_threshold > 0 ? 0 : params.ghosts},
                     setup) {}
};

}  // namespace mcsim
