#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/distances/piece_events.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The hits of requests and bytes in a piece of a stream. A request hits if all its blocks do, so
// its distance is the largest of its blocks (RequestDistances). The first accesses to the blocks of
// a piece have no distances yet. Those of a request follow one another in PartialDistances::first.
struct PartialRequests {
  DistanceHistogram requests;  // requests whose distance is known
  DistanceHistogram bytes;     // bytes of accesses whose distance is known
  Count all_requests = 0;
  Count all_bytes = 0;
  std::vector<std::uint32_t> first_bytes;  // by access of unknown distance
  // By request with such accesses: their number, and the largest known distance; kCold if the
  // request has a cold access.
  std::vector<std::uint32_t> pending_firsts;
  std::vector<Count> pending_distance;

  friend bool operator==(const PartialRequests&, const PartialRequests&) = default;
};

// The exact curve of a piece of a stream, to be merged with its neighbours (PartialDistances).
struct PartialCurve {
  // How requests and bytes are counted. The count of accesses is enough while each request is one
  // block and has `request_bytes` bytes. Pieces without lengths have no such counts.
  enum class Requests : std::uint8_t { kNone, kEqual, kCounted };

  // With discards, `first` has the keys of `events`, and `last` may have holes.
  PartialDistances blocks;
  PieceEvents events;
  Requests mode = Requests::kNone;
  std::uint32_t request_bytes = 0;
  PartialRequests requests;
  // Whether nothing precedes the piece: first accesses are then counted as cold and not kept.
  bool starts = false;
  // Whether nothing follows the piece: last accesses are then not kept.
  bool ends = false;

  // Marks the piece as the first or the last one of the stream.
  void start();
  void end();

  Count accesses() const { return histogram().accesses(); }
  // Distinct blocks.
  Count distinct() const { return histogram().cold - events.cold_again; }
  // The distances in a stream that begins with the piece.
  DistanceHistogram histogram() const;
  // Accesses of unknown distance.
  std::size_t unresolved() const { return unresolved_in(events, blocks.first.size()); }
  // The curve of a stream that begins with the piece.
  CurveEstimate curve() const;
  // Fails if the data contradict themselves, as those of a damaged file may.
  absl::Status check() const;

  friend bool operator==(const PartialCurve&, const PartialCurve&) = default;
};

// A piece with dense block numbers. `key_of` has the key of each number, equal in all pieces.
struct NumberedPiece {
  std::span<const std::uint32_t> blocks;
  std::span<const std::uint64_t> key_of;
  PieceEngine::Discards discards = {};
  PartialCurve::Requests mode = PartialCurve::Requests::kNone;
  std::uint32_t request_bytes = 0;
  RequestShapes requests = {};  // with kCounted
};

// Computes the curve of a piece. Fails if a number has no key, or requests do not fit their blocks.
// Memory: as DenseDistances, 16 bytes a block, and with kCounted 8
// bytes an access of a chunk.
absl::StatusOr<PartialCurve> analyse(const NumberedPiece& piece);

// Returns the curve of `left` followed by `right`. Fails if a block occurs twice where each occurs
// once, which only damaged data has.
absl::StatusOr<PartialCurve> merge(PartialCurve left, const PartialCurve& right);

// The blocks in the stacks of earlier pieces that the first accesses of a piece move, from the
// bottom up (hash_ranges.hpp).
struct MovedBlocks {
  std::span<const std::uint8_t> range_of;  // by first access
  std::span<const std::uint32_t> access;   // position among the grouped first accesses
  std::span<const Count> above;            // blocks above that the piece does not access
};

// Returns the curve of a piece without first and last accesses: those that `moved` does not have
// are cold. Fails if `moved` does not fit, or the piece has discards.
absl::StatusOr<PartialCurve> resolve(PartialCurve piece, const MovedBlocks& moved);

}  // namespace mcsim
