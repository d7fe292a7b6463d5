#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/isa.hpp"
#include "core/base/random.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// Spatial sampling (Waldspurger et al., SHARDS, FAST 2015): select a fraction of the blocks by
// their hash, and keep all references to them. A block is either always or never sampled. The
// sample of a lower rate is a subset of that of a higher rate; another seed gives another sample.
//
// The hash is a full bijective mix of 64 bits, so no two keys have the same hash. The upper bits of
// sampled keys are nearly constant, so a further hash of sampled keys must not depend on them.
class SpatialFilter {
 public:
  // `rate` is in (0, 1]; 1 samples everything.
  SpatialFilter(double rate, std::uint64_t seed);

  // The fraction of all possible hashes that is sampled.
  double rate() const;

  std::uint64_t hash(std::uint64_t key) const { return mix64(key ^ salt_); }
  bool samples(std::uint64_t key) const { return hash(key) <= limit_; }

  // Copy the sampled keys, in their order, to `out`, which must have room for all keys; return
  // their number.
  std::size_t select(std::span<const std::uint64_t> keys, std::span<std::uint64_t> out) const;
  // The same for dense ids.
  std::size_t select(std::span<const std::uint32_t> ids, std::span<std::uint32_t> out) const;

  // The largest hash that is sampled. It must not rise while a sample is kept.
  std::uint64_t limit() const { return limit_; }
  void lower_limit(std::uint64_t limit) { limit_ = limit; }

 private:
  std::uint64_t salt_;
  std::uint64_t limit_;
};

// The loops of select() (sample_filter.inl): copy the keys with mix64(key ^ salt) <= limit, in
// their order, to `out`, which has room for all, and return their number.
template <Isa kIsa>
std::size_t select_sampled_keys(std::span<const std::uint64_t> keys, std::uint64_t salt,
                                std::uint64_t limit, std::uint64_t* out);
template <Isa kIsa>
std::size_t select_sampled_ids(std::span<const std::uint32_t> ids, std::uint64_t salt,
                               std::uint64_t limit, std::uint32_t* out);

// --- From the sample to the whole --------------------------------------------------

// The smallest capacity at which a reference with reuse distance `distance` in the sample hits. The
// true distance d lies around distance / rate to (distance + 1) / rate, and d + 1 blocks are
// needed. The result is the middle, and exact at rate 1.
inline double unsampled_capacity(Count distance, double rate) {
  return (static_cast<double>(distance) + 0.5) / rate + 0.5;
}

// The capacity of the miniature cache that simulates a cache of `blocks` on the sample (Waldspurger
// et al., ATC 2017); at least one.
Count miniature_capacity(Count blocks, double rate);

}  // namespace mcsim
