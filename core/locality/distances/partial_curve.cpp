#include "core/locality/distances/partial_curve.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/locality/distances/hash_ranges.hpp"
#include "core/locality/distances/request_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

using Requests = PartialCurve::Requests;

// Accesses whose distances are in memory at a time.
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Stores the requests with accesses of unknown distance, given the distances of all their blocks.
void add_pending(const RequestShapes& requests, std::span<const Count> distances,
                 PartialRequests& result) {
  for (std::size_t r = 0; r < requests.blocks.size(); ++r) {
    const auto blocks = distances.first(requests.blocks[r]);
    distances = distances.subspan(blocks.size());
    std::uint32_t firsts = 0;
    Count largest = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == kCold || largest == kCold) {
        largest = kCold;
      } else {
        largest = std::max(largest, blocks[i]);
      }
      if (blocks[i] != kUnresolved) continue;
      ++firsts;
      result.first_bytes.push_back(static_cast<std::uint32_t>(bytes_in_block(requests, r, i)));
    }
    if (firsts == 0) continue;
    result.pending_firsts.push_back(firsts);
    result.pending_distance.push_back(largest);
  }
}

void count_with_requests(const RequestShapes& all, PieceEngine& engine, PartialRequests& result) {
  RequestDistances counted(0);
  std::vector<Count> distances;
  for (std::size_t begin = 0; begin < all.blocks.size();) {
    std::size_t end = begin;
    std::size_t accesses = 0;
    while (end < all.blocks.size() && accesses < kChunk) accesses += all.blocks[end++];
    const RequestShapes some{all.block_bytes, all.blocks.subspan(begin, end - begin),
                             all.head.subspan(begin, end - begin),
                             all.bytes.subspan(begin, end - begin)};
    distances.resize(accesses);
    engine.process(accesses, distances);
    add_pending(some, distances, result);
    std::ranges::replace(distances, kUnresolved, kCold);
    counted.count(some, distances);
    begin = end;
  }
  result.requests = counted.requests();
  result.bytes = counted.bytes();
  result.all_requests = counted.all_requests();
  result.all_bytes = counted.all_bytes();
}

PartialCurve analysed(const NumberedPiece& piece) {
  PartialCurve result;
  result.mode = piece.mode;
  result.request_bytes = piece.request_bytes;
  PieceEngine engine(piece.blocks, piece.key_of, piece.discards);
  if (piece.mode == Requests::kCounted) {
    count_with_requests(piece.requests, engine, result.requests);
  } else {
    engine.process(piece.blocks.size(), {});
  }
  PieceEngine::Result found = engine.finish();
  result.blocks.resolved = std::move(found.resolved);
  result.blocks.first = std::move(found.first);
  result.blocks.last = std::move(found.last);
  result.events = std::move(found.events);
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
  const std::size_t firsts = piece.unresolved();
  requests.first_bytes.assign(firsts, piece.request_bytes);
  requests.pending_firsts.assign(firsts, 1);
  requests.pending_distance.assign(firsts, 0);
  piece.mode = Requests::kCounted;
  piece.request_bytes = 0;
}

// Whether two pieces count requests in the same way.
bool count_alike(const PartialCurve& left, const PartialCurve& right) {
  return left.mode == right.mode && left.request_bytes == right.request_bytes;
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
  if (count_alike(left, right)) return;
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

// Whether the events and the stack have what a merge relies on.
bool is_sound(const PartialCurve& curve) {
  const PieceEvents& of = curve.events;
  if (!of.kinds.empty() && of.kinds.size() != curve.blocks.first.size()) return false;
  for (std::size_t i = 0; i < of.kinds.size(); ++i) {
    if (of.kinds[i] > PieceEvent::kDiscardEnd) return false;
    const bool follows = i > 0 && of.kinds[i - 1] == PieceEvent::kDiscardBegin;
    if (follows != (of.kinds[i] == PieceEvent::kDiscardEnd)) return false;
  }
  if (!of.kinds.empty() && of.kinds.back() == PieceEvent::kDiscardBegin) return false;
  return std::ranges::is_sorted(of.holes, std::less_equal<std::uint64_t>()) &&
         (of.holes.empty() || of.holes.back() < curve.blocks.last.size());
}

absl::Status check_piece(const NumberedPiece& piece) {
  const std::size_t keys = piece.key_of.size();
  if (std::ranges::any_of(piece.blocks, [&](std::uint32_t block) { return block >= keys; })) {
    return invalid_argument("blocks: a number without a key");
  }
  const PieceEngine::Discards& discards = piece.discards;
  bool fits = std::ranges::is_sorted(discards.at) && discards.begin.size() == discards.at.size() &&
              discards.end.size() == discards.at.size() &&
              (discards.at.empty() || discards.at.back() <= piece.blocks.size());
  for (std::size_t i = 0; fits && i < discards.at.size(); ++i) {
    fits = discards.end[i] == 0 || discards.begin[i] < discards.end[i];
  }
  if (!fits) return invalid_argument("discards: expected ranges of keys in the order of accesses");
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
                  std::span<const Count> distances) {
  RequestDistances found(0);
  std::size_t next = 0;
  for (std::size_t r = 0; r < right.pending_firsts.size(); ++r) {
    Count largest = right.pending_distance[r];
    std::uint32_t firsts = 0;
    for (const std::size_t end = next + right.pending_firsts[r]; next < end; ++next) {
      const Count distance = distances[next];
      if (distance == kUnresolved) {
        ++firsts;
        left.first_bytes.push_back(right.first_bytes[next]);
        continue;
      }
      if (distance == kCold || largest == kCold) largest = kCold;
      if (distance == kCold) continue;
      if (right.first_bytes[next] > 0) found.add_bytes(distance, right.first_bytes[next]);
      if (largest != kCold) largest = std::max(largest, distance);
    }
    if (firsts == 0) {
      if (largest != kCold) found.add_request(largest);
    } else {
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

// Merges the distances of blocks; returns those of the accesses of `right` that were unknown.
absl::StatusOr<std::vector<Count>> merge_blocks(PartialCurve& left, const PartialCurve& right,
                                                PartialCurve& result) {
  const bool counts = result.mode == Requests::kCounted;
  std::vector<Count> distances(counts ? right.blocks.first.size() : 0);
  MCSIM_ASSIGN_OR_RETURN(result.blocks, merge(std::move(left.blocks), right.blocks,
                                              MergeOptions{left.starts, right.ends, distances}));
  if (!left.starts) std::ranges::replace(distances, kCold, kUnresolved);
  return distances;
}

// The same for pieces with discards.
absl::StatusOr<std::vector<Count>> merge_events(PartialCurve& left, const PartialCurve& right,
                                                PartialCurve& result) {
  MCSIM_ASSIGN_OR_RETURN(
      ReplayResult found,
      replay({left.blocks.first, left.blocks.last, left.events},
             {right.blocks.first, right.blocks.last, right.events}, left.starts, right.ends));
  if (left.events.kinds.empty() && !left.starts) {
    left.events.kinds.assign(left.blocks.first.size(), PieceEvent::kAccess);
  }
  std::vector<PieceEvent>& kinds = left.events.kinds;
  kinds.insert(kinds.end(), found.events.kinds.begin(), found.events.kinds.end());
  std::vector<std::uint64_t>& first = left.blocks.first;
  first.insert(first.end(), found.first.begin(), found.first.end());
  result.blocks.resolved = std::move(left.blocks.resolved);
  result.blocks.resolved.merge(right.blocks.resolved);
  result.blocks.resolved.merge(found.resolved);
  result.blocks.first = std::move(first);
  result.blocks.last = std::move(found.last);
  result.events = {
      .kinds = std::move(kinds),
      .holes = std::move(found.events.holes),
      .gone = std::move(found.events.gone),
      .cold_again = left.events.cold_again + right.events.cold_again + found.events.cold_again};
  return std::move(found.distances);
}

// The histogram of distances; kCold is cold.
DistanceHistogram histogram_of(std::span<const Count> distances) {
  RequestDistances counted(0);
  Count cold = 0;
  for (const Count distance : distances) {
    if (distance == kCold) {
      ++cold;
    } else {
      counted.add_request(distance);
    }
  }
  DistanceHistogram result = counted.requests();
  result.cold = cold;
  return result;
}

// The distances of the first accesses of a piece.
absl::StatusOr<std::vector<Count>> distances_of(std::size_t firsts, const MovedBlocks& moved) {
  const std::vector<std::uint32_t> position = positions_of_groups(moved.range_of);
  std::vector<std::uint32_t> places(firsts);
  for (std::size_t i = 0; i < moved.access.size(); ++i) {
    const std::size_t access = moved.access[i];
    if (access >= firsts || places[position[access]] != 0) {
      return data_loss("partial curve: moved blocks do not fit its first accesses");
    }
    places[position[access]] = static_cast<std::uint32_t>(i + 1);
  }
  std::vector<Count> distances(firsts);
  distances_in_stack(moved.access.size(), places, distances);
  for (std::size_t i = 0; i < firsts; ++i) {
    if (places[i] != 0) distances[i] += moved.above[places[i] - 1];
  }
  return distances;
}

absl::StatusOr<PartialCurve> resolved(PartialCurve piece, const MovedBlocks& moved) {
  const std::size_t firsts = piece.blocks.first.size();
  const bool fits = piece.events.empty() && moved.range_of.size() == firsts &&
                    moved.above.size() == moved.access.size();
  if (!fits) return invalid_argument("partial curve: moved blocks do not fit its first accesses");
  piece.blocks.first = {};
  piece.blocks.last = {};
  MCSIM_ASSIGN_OR_RETURN(const std::vector<Count> distances, distances_of(firsts, moved));
  if (piece.mode == Requests::kCounted) {
    PartialRequests requests;
    add_requests(requests, piece.requests, distances);
    piece.requests = std::move(requests);
  }
  piece.blocks.resolved.merge(histogram_of(distances));
  return piece;
}

absl::StatusOr<PartialCurve> merged(PartialCurve left, const PartialCurve& given) {
  if (left.ends || given.starts) {
    return invalid_argument("partial curves: nothing follows a last piece or precedes a first one");
  }
  PartialCurve unified;
  if (!count_alike(left, given)) {
    unified = given;
    unify(left, unified);
  }
  const PartialCurve& right = count_alike(left, given) ? given : unified;
  PartialCurve result;
  result.mode = left.mode;
  result.request_bytes = left.request_bytes;
  result.requests = std::move(left.requests);
  result.starts = left.starts;
  result.ends = right.ends;
  const bool is_plain = left.events.empty() && right.events.empty();
  MCSIM_ASSIGN_OR_RETURN(
      const std::vector<Count> distances,
      is_plain ? merge_blocks(left, right, result) : merge_events(left, right, result));
  if (is_plain) result.events.cold_again = left.events.cold_again + right.events.cold_again;
  if (result.mode == Requests::kCounted) add_requests(result.requests, right.requests, distances);
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

DistanceHistogram PartialCurve::histogram() const {
  DistanceHistogram result = blocks.resolved;
  result.cold += static_cast<Count>(unresolved());
  return result;
}

void PartialCurve::start() {
  starts = true;
  blocks.resolved.cold += static_cast<Count>(unresolved());
  blocks.first = {};
  events.kinds = {};
  requests.first_bytes = {};
  requests.pending_firsts = {};
  requests.pending_distance = {};
}

void PartialCurve::end() {
  ends = true;
  blocks.last = {};
  events.holes = {};
  events.gone = {};
}

absl::Status PartialCurve::check() const {
  for (const DistanceHistogram* of : {&blocks.resolved, &requests.requests, &requests.bytes}) {
    MCSIM_RETURN_IF_ERROR(check_counts(*of));
  }
  if (!is_sound(*this)) return data_loss("partial curve: events do not fit its stack");
  if (mode > Requests::kCounted) return data_loss("partial curve: unknown mode of requests");
  if (mode != Requests::kCounted) return absl::OkStatus();
  std::uint64_t firsts = 0;
  for (const std::uint32_t count : requests.pending_firsts) firsts += count;
  const bool fits = requests.first_bytes.size() == unresolved() &&
                    requests.pending_distance.size() == requests.pending_firsts.size() &&
                    firsts == unresolved();
  return fits ? absl::OkStatus() : data_loss("partial curve: requests do not fit its accesses");
}

CurveEstimate PartialCurve::curve() const {
  CurveEstimate curve = exact_estimate(histogram());
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

absl::StatusOr<PartialCurve> merge(PartialCurve left, const PartialCurve& right) {
  return guarded("partial curve", [&] { return merged(std::move(left), right); });
}

absl::StatusOr<PartialCurve> resolve(PartialCurve piece, const MovedBlocks& moved) {
  return guarded("partial curve", [&] { return resolved(std::move(piece), moved); });
}

}  // namespace mcsim
