#include "core/locality/distances/request_distances.hpp"

#include <algorithm>
#include <cassert>

#include "core/locality/distances/distance_state.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {

std::uint64_t bytes_in_block(const RequestShapes& requests, std::size_t request, std::size_t i) {
  const std::uint64_t begin = requests.head[request];
  const std::uint64_t end = begin + requests.bytes[request];
  const std::uint64_t first = std::max<std::uint64_t>(begin, i * requests.block_bytes);
  const bool is_last = i + 1 == requests.blocks[request];
  const std::uint64_t last =
      is_last ? end : std::min(end, (i + 1) * std::uint64_t{requests.block_bytes});
  return last > first ? last - first : 0;
}

void RequestDistances::count(const RequestShapes& requests, std::span<const Count> distances) {
  std::size_t next = 0;
  for (std::size_t r = 0; r < requests.blocks.size(); ++r) {
    const auto blocks = distances.subspan(next, requests.blocks[r]);
    next += blocks.size();
    Count largest = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == kCold) {
        largest = kCold;
      } else {
        const auto bytes = static_cast<Count>(bytes_in_block(requests, r, i));
        if (bytes > 0) add(bytes_, blocks[i], bytes);
        if (largest != kCold) largest = std::max(largest, blocks[i]);
      }
    }
    if (largest != kCold) add(requests_, largest, 1);
    all_bytes_ += requests.bytes[r];
  }
  all_requests_ += static_cast<Count>(requests.blocks.size());
  assert(next == distances.size());
}

DistanceHistogram RequestDistances::histogram_of(const std::vector<Count>& counts) const {
  DistanceHistogram histogram;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    histogram.distance.push_back(static_cast<Count>(DistanceBins::last_of(bin, bin_bits_)));
    histogram.count.push_back(counts[bin]);
  }
  return histogram;
}

void RequestDistances::add(std::vector<Count>& counts, Count distance, Count more) const {
  const std::size_t bin = DistanceBins::bin_of(static_cast<std::uint64_t>(distance), bin_bits_);
  if (bin >= counts.size()) counts.resize(std::max(bin + 1, 2 * counts.size()));
  counts[bin] += more;
}

void RequestDistances::add_to(CurveEstimate& curve) const {
  if (all_requests_ > 0) curve.request_hits = hits_of(requests_, curve);
  if (all_bytes_ > 0) curve.byte_hits = hits_of(bytes_, curve);
  curve.requests = static_cast<double>(all_requests_);
  curve.bytes = static_cast<double>(all_bytes_);
}

// Every distance of a request or a byte is that of a block, and so a step of the curve.
std::vector<double> RequestDistances::hits_of(const std::vector<Count>& counts,
                                              const CurveEstimate& curve) const {
  std::vector<double> hits;
  hits.reserve(curve.capacity.size());
  Count sum = 0;
  std::size_t bin = 0;
  for (const double capacity : curve.capacity) {
    const std::size_t last =
        DistanceBins::bin_of(static_cast<std::uint64_t>(capacity) - 1, bin_bits_);
    for (; bin <= last && bin < counts.size(); ++bin) sum += counts[bin];
    hits.push_back(static_cast<double>(sum));
  }
  return hits;
}

}  // namespace mcsim
