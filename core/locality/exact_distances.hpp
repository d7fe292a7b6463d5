#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// Exact reuse distances of a stream of 64-bit keys, any of them, piece by piece.
class ExactDistances {
 public:
  ExactDistances();
  ExactDistances(ExactDistances&&) noexcept;
  ExactDistances& operator=(ExactDistances&&) noexcept;
  ~ExactDistances();

  // Counts the distances of the next keys.
  absl::Status process(std::span<const std::uint64_t> keys);
  // And writes them out, one a key, kCold for first ones.
  absl::Status process(std::span<const std::uint64_t> keys, std::span<Count> distances);

  DistanceHistogram histogram() const;
  Count distinct() const;
  std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mcsim
