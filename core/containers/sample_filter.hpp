#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/isa.hpp"
#include "core/base/random.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// Spatial sampling (Waldspurger et al., SHARDS, FAST 2015): a share of the blocks
// is picked by their hash, and all references to those are kept. A block is
// always in or always out; what a lower rate samples, a higher one does too, and
// another seed gives another sample.
//
// The hash is a full mix of 64 bits and one to one, so no two keys share it. A
// sampled key's upper bits are nearly known: what hashes the survivors must not
// rely on those.
class SpatialFilter {
 public:
  // `rate` is in (0, 1]; 1 samples everything.
  SpatialFilter(double rate, std::uint64_t seed);

  // The share of all possible hashes that is sampled.
  double rate() const;

  std::uint64_t hash(std::uint64_t key) const { return mix64(key ^ salt_); }
  bool samples(std::uint64_t key) const { return hash(key) <= limit_; }

  // Copies the sampled keys, in their order, to `out`, which has as much room as
  // there are keys; returns how many they are.
  std::size_t select(std::span<const std::uint64_t> keys, std::span<std::uint64_t> out) const;
  // The same for dense ids.
  std::size_t select(std::span<const std::uint32_t> ids, std::span<std::uint32_t> out) const;

  // Hashes up to this one are sampled. The limit must not rise while a sample is kept.
  std::uint64_t limit() const { return limit_; }
  void lower_limit(std::uint64_t limit) { limit_ = limit; }

 private:
  std::uint64_t salt_;
  std::uint64_t limit_;
};

// The loops of select() (sample_filter.inl).
//
// Copies, in their order, the keys with mix64(key ^ salt) <= limit to `out`, which
// has room for all, and returns how many they are.
template <Isa kIsa>
std::size_t select_sampled_keys(std::span<const std::uint64_t> keys, std::uint64_t salt,
                                std::uint64_t limit, std::uint64_t* out);
template <Isa kIsa>
std::size_t select_sampled_ids(std::span<const std::uint32_t> ids, std::uint64_t salt,
                               std::uint64_t limit, std::uint32_t* out);

// What is measured on a sample, in terms of the whole.

// The capacity from which on a reference hits if its reuse distance in the sample
// is `distance`. The true distance d is then spread around the stretch from
// distance / rate to (distance + 1) / rate, and d + 1 blocks are needed: this is
// the middle, and exact at rate 1.
inline double unsampled_capacity(Count distance, double rate) {
  return (static_cast<double>(distance) + 0.5) / rate + 0.5;
}

// The capacity of the miniature cache that stands for one of `blocks` when it is
// given the sample (Waldspurger et al., ATC 2017); at least one.
Count miniature_capacity(Count blocks, double rate);

}  // namespace mcsim
