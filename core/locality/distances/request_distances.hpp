#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The distances of requests and of bytes. A request hits if all its blocks do, so its distance is
// the largest of theirs. A byte has the distance of its block. Memory: 16 bytes a distance.
class RequestDistances {
 public:
  explicit RequestDistances(int bin_bits) : bin_bits_(bin_bits) {}

  // Counts requests, given the `distances` of all their blocks.
  void count(const RequestShapes& requests, std::span<const Count> distances);
  // Adds the hits of requests and of bytes at each capacity of the curve; adds none if there were
  // no requests, or no bytes.
  void add_to(CurveEstimate& curve) const;
  std::size_t bytes() const { return (requests_.capacity() + bytes_.capacity()) * sizeof(Count); }

 private:
  void add(std::vector<Count>& counts, Count distance, Count more) const;
  std::vector<double> hits_of(const std::vector<Count>& counts, const CurveEstimate& curve) const;

  int bin_bits_;
  std::vector<Count> requests_;  // by bin of distances (DistanceBins)
  std::vector<Count> bytes_;
  Count all_requests_ = 0;
  Count all_bytes_ = 0;
};

}  // namespace mcsim
