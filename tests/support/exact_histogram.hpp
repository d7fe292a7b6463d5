#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {

// The oracle of estimators.
inline DistanceHistogram exact_histogram(std::span<const std::uint64_t> keys) {
  ExactDistances distances;
  EXPECT_TRUE(distances.process(keys).ok());
  return distances.histogram();
}

}  // namespace mcsim
