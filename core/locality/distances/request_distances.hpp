#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// The bytes of a request in its i-th block. Bytes past the last block count for it, as for an
// object or a request without blocks.
std::uint64_t bytes_in_block(const RequestShapes& requests, std::size_t request, std::size_t i);

// The distances of requests and of bytes. A request hits if all its blocks do, so its distance is
// the largest of theirs. A byte has the distance of its block. Memory: 16 bytes a distance.
class RequestDistances {
 public:
  explicit RequestDistances(int bin_bits) : bin_bits_(bin_bits) {}

  // Counts requests, given the `distances` of all their blocks.
  void count(const RequestShapes& requests, std::span<const Count> distances);
  // Counts a request or bytes of known distance, without adding to the totals.
  void add_request(Count distance) { add(requests_, distance, 1); }
  void add_bytes(Count distance, Count bytes) { add(bytes_, distance, bytes); }
  DistanceHistogram requests() const { return histogram_of(requests_); }
  DistanceHistogram bytes() const { return histogram_of(bytes_); }
  Count all_requests() const { return all_requests_; }
  Count all_bytes() const { return all_bytes_; }
  // Adds the hits of requests and of bytes at each capacity of the curve; adds none if there were
  // no requests, or no bytes.
  void add_to(CurveEstimate& curve) const;
  std::size_t memory_bytes() const {
    return (requests_.capacity() + bytes_.capacity()) * sizeof(Count);
  }

 private:
  DistanceHistogram histogram_of(const std::vector<Count>& counts) const;
  void add(std::vector<Count>& counts, Count distance, Count more) const;
  std::vector<double> hits_of(const std::vector<Count>& counts, const CurveEstimate& curve) const;

  int bin_bits_;
  std::vector<Count> requests_;  // by bin of distances (DistanceBins)
  std::vector<Count> bytes_;
  Count all_requests_ = 0;
  Count all_bytes_ = 0;
};

}  // namespace mcsim
