#include "core/locality/distances/partial_curve.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/request_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

using Requests = PartialCurve::Requests;

// Accesses whose distances are in memory at a time.
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Stores first and last accesses.
void add_boundaries(const NumberedPiece& piece, PartialDistances& result) {
  std::vector<bool> seen(piece.key_of.size());
  for (std::size_t i = 0; i < piece.blocks.size() && result.first.size() < seen.size(); ++i) {
    const std::uint32_t block = piece.blocks[i];
    if (seen[block]) continue;
    seen[block] = true;
    result.first.push_back(piece.key_of[block]);
  }
  seen.assign(seen.size(), false);
  result.last.reserve(result.first.size());
  for (std::size_t i = piece.blocks.size(); i-- > 0 && result.last.size() < result.first.size();) {
    const std::uint32_t block = piece.blocks[i];
    if (seen[block]) continue;
    seen[block] = true;
    result.last.push_back(piece.key_of[block]);
  }
  std::ranges::reverse(result.last);
}

// Stores the requests with first accesses, given the distances of all their blocks.
void add_pending(const RequestShapes& requests, std::span<const Count> distances,
                 PartialRequests& result) {
  for (std::size_t r = 0; r < requests.blocks.size(); ++r) {
    const auto blocks = distances.first(requests.blocks[r]);
    distances = distances.subspan(blocks.size());
    std::uint32_t firsts = 0;
    Count largest = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      largest = std::max(largest, blocks[i]);
      if (blocks[i] != kCold) continue;
      ++firsts;
      result.first_bytes.push_back(static_cast<std::uint32_t>(bytes_in_block(requests, r, i)));
    }
    if (firsts == 0) continue;
    result.pending_firsts.push_back(firsts);
    result.pending_distance.push_back(largest);
  }
}

void count_with_requests(const NumberedPiece& piece, DenseDistances& engine,
                         PartialRequests& result) {
  RequestDistances counted(0);
  std::vector<Count> distances;
  std::size_t done = 0;
  for (std::size_t begin = 0; begin < piece.requests.blocks.size();) {
    std::size_t end = begin;
    std::size_t accesses = 0;
    while (end < piece.requests.blocks.size() && accesses < kChunk) {
      accesses += piece.requests.blocks[end++];
    }
    const RequestShapes some{piece.requests.block_bytes,
                             piece.requests.blocks.subspan(begin, end - begin),
                             piece.requests.head.subspan(begin, end - begin),
                             piece.requests.bytes.subspan(begin, end - begin)};
    distances.resize(accesses);
    engine.process(piece.blocks.subspan(done, accesses), distances);
    counted.count(some, distances);
    add_pending(some, distances, result);
    done += accesses;
    begin = end;
  }
  result.requests = counted.requests();
  result.bytes = counted.bytes();
  result.all_requests = counted.all_requests();
  result.all_bytes = counted.all_bytes();
}

PartialCurve analysed(const NumberedPiece& piece) {
  PartialCurve result{
      .blocks = {}, .mode = piece.mode, .request_bytes = piece.request_bytes, .requests = {}};
  DenseDistances engine(piece.key_of.size());
  if (piece.mode == Requests::kCounted) {
    count_with_requests(piece, engine, result.requests);
  } else {
    engine.process(piece.blocks);
  }
  result.blocks.resolved = engine.histogram();
  result.blocks.resolved.cold = 0;
  add_boundaries(piece, result.blocks);
  return result;
}

// Counts the requests of a piece, each of which is one block.
void count_equal_requests(PartialCurve& piece) {
  const Count bytes = piece.request_bytes;
  PartialRequests& requests = piece.requests;
  requests.requests = piece.blocks.resolved;
  requests.requests.cold = 0;
  requests.all_requests = piece.accesses();
  requests.all_bytes = requests.all_requests * bytes;
  if (bytes > 0) {
    requests.bytes = requests.requests;
    for (Count& count : requests.bytes.count) count *= bytes;
  }
  const std::size_t firsts = piece.blocks.first.size();
  requests.first_bytes.assign(firsts, piece.request_bytes);
  requests.pending_firsts.assign(firsts, 1);
  requests.pending_distance.assign(firsts, 0);
  piece.mode = Requests::kCounted;
  piece.request_bytes = 0;
}

// Makes both pieces count requests in the same way. A piece without accesses fits any other.
void unify(PartialCurve& left, PartialCurve& right) {
  if (left.accesses() == 0) {
    left.mode = right.mode;
    left.request_bytes = right.request_bytes;
  } else if (right.accesses() == 0) {
    right.mode = left.mode;
    right.request_bytes = left.request_bytes;
  }
  if (left.mode == right.mode && left.request_bytes == right.request_bytes) return;
  for (PartialCurve* piece : {&left, &right}) {
    if (left.mode == Requests::kNone || right.mode == Requests::kNone) {
      piece->requests = {};
      piece->request_bytes = 0;
    } else if (piece->mode == Requests::kEqual) {
      count_equal_requests(*piece);
    }
  }
  if (left.mode != right.mode) left.mode = right.mode = Requests::kNone;
}

absl::Status check_counts(const DistanceHistogram& histogram) {
  const bool fits = histogram.distance.size() == histogram.count.size() &&
                    std::ranges::is_sorted(histogram.distance, std::less_equal<Count>()) &&
                    std::ranges::all_of(histogram.count, [](Count count) { return count > 0; }) &&
                    (histogram.distance.empty() || histogram.distance.front() >= 0) &&
                    histogram.cold >= 0;
  return fits ? absl::OkStatus() : data_loss("partial curve: distances do not increase");
}

absl::Status check_piece(const NumberedPiece& piece) {
  const std::size_t keys = piece.key_of.size();
  if (std::ranges::any_of(piece.blocks, [&](std::uint32_t block) { return block >= keys; })) {
    return invalid_argument("blocks: a number without a key");
  }
  if (piece.mode != Requests::kCounted) return absl::OkStatus();
  const RequestShapes& of = piece.requests;
  std::size_t blocks = 0;
  for (const std::uint32_t count : of.blocks) blocks += count;
  if (blocks != piece.blocks.size() || of.head.size() != of.blocks.size() ||
      of.bytes.size() != of.blocks.size()) {
    return invalid_argument("requests: they have {} blocks, and there are {} accesses", blocks,
                            piece.blocks.size());
  }
  return absl::OkStatus();
}

// Adds the requests of `right`, the distances of whose first accesses are known now.
void add_requests(PartialRequests& left, const PartialRequests& right,
                  std::span<const Count> distances, bool starts) {
  RequestDistances found(0);
  std::size_t next = 0;
  for (std::size_t r = 0; r < right.pending_firsts.size(); ++r) {
    Count largest = right.pending_distance[r];
    std::uint32_t firsts = 0;
    for (const std::size_t end = next + right.pending_firsts[r]; next < end; ++next) {
      const Count distance = distances[next];
      if (distance == kCold) {
        ++firsts;
        if (!starts) left.first_bytes.push_back(right.first_bytes[next]);
        continue;
      }
      if (right.first_bytes[next] > 0) found.add_bytes(distance, right.first_bytes[next]);
      largest = std::max(largest, distance);
    }
    if (firsts == 0) {
      found.add_request(largest);
    } else if (!starts) {
      left.pending_firsts.push_back(firsts);
      left.pending_distance.push_back(largest);
    }
  }
  left.requests.merge(right.requests);
  left.requests.merge(found.requests());
  left.bytes.merge(right.bytes);
  left.bytes.merge(found.bytes());
  left.all_requests += right.all_requests;
  left.all_bytes += right.all_bytes;
}

absl::StatusOr<PartialCurve> merged(PartialCurve left, PartialCurve right) {
  if (left.ends || right.starts) {
    return invalid_argument("partial curves: nothing follows a last piece or precedes a first one");
  }
  unify(left, right);
  const bool counts = left.mode == Requests::kCounted;
  std::vector<Count> distances(counts ? right.blocks.first.size() : 0);
  PartialCurve result{.blocks = {},
                      .mode = left.mode,
                      .request_bytes = left.request_bytes,
                      .requests = std::move(left.requests),
                      .starts = left.starts,
                      .ends = right.ends};
  MCSIM_ASSIGN_OR_RETURN(result.blocks, merge(std::move(left.blocks), right.blocks,
                                              MergeOptions{left.starts, right.ends, distances}));
  if (counts) add_requests(result.requests, right.requests, distances, left.starts);
  return result;
}

// The counts below the capacity of each step.
std::vector<double> hits_of(const DistanceHistogram& histogram, const CurveEstimate& curve) {
  std::vector<double> hits;
  hits.reserve(curve.capacity.size());
  Count sum = 0;
  std::size_t i = 0;
  for (const double capacity : curve.capacity) {
    for (; i < histogram.distance.size() && static_cast<double>(histogram.distance[i]) < capacity;
         ++i) {
      sum += histogram.count[i];
    }
    hits.push_back(static_cast<double>(sum));
  }
  return hits;
}

}  // namespace

void PartialCurve::start() {
  starts = true;
  blocks.resolved.cold += static_cast<Count>(blocks.first.size());
  blocks.first = {};
  requests.first_bytes = {};
  requests.pending_firsts = {};
  requests.pending_distance = {};
}

void PartialCurve::end() {
  ends = true;
  blocks.last = {};
}

absl::Status PartialCurve::check() const {
  for (const DistanceHistogram* of : {&blocks.resolved, &requests.requests, &requests.bytes}) {
    MCSIM_RETURN_IF_ERROR(check_counts(*of));
  }
  if (mode > Requests::kCounted) return data_loss("partial curve: unknown mode of requests");
  if (mode != Requests::kCounted) return absl::OkStatus();
  std::uint64_t firsts = 0;
  for (const std::uint32_t count : requests.pending_firsts) firsts += count;
  const bool fits = requests.first_bytes.size() == blocks.first.size() &&
                    requests.pending_distance.size() == requests.pending_firsts.size() &&
                    firsts == blocks.first.size();
  return fits ? absl::OkStatus() : data_loss("partial curve: requests do not fit its accesses");
}

CurveEstimate PartialCurve::curve() const {
  CurveEstimate curve = exact_estimate(blocks.histogram());
  if (mode == Requests::kEqual) {
    curve.request_hits = curve.hits;
    curve.requests = curve.accesses;
    curve.bytes = curve.accesses * request_bytes;
    if (request_bytes > 0) {
      for (const double hits : curve.hits) curve.byte_hits.push_back(hits * request_bytes);
    }
  } else if (mode == Requests::kCounted) {
    curve.request_hits = hits_of(requests.requests, curve);
    curve.requests = static_cast<double>(requests.all_requests);
    curve.bytes = static_cast<double>(requests.all_bytes);
    if (requests.all_bytes > 0) curve.byte_hits = hits_of(requests.bytes, curve);
  }
  return curve;
}

absl::StatusOr<PartialCurve> analyse(const NumberedPiece& piece) {
  MCSIM_RETURN_IF_ERROR(check_piece(piece));
  return guarded("partial curve",
                 [&]() -> absl::StatusOr<PartialCurve> { return analysed(piece); });
}

absl::StatusOr<PartialCurve> merge(PartialCurve left, PartialCurve right) {
  return guarded("partial curve", [&] { return merged(std::move(left), std::move(right)); });
}

}  // namespace mcsim
