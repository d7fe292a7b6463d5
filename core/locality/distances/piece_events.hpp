#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {

// What a piece of a stream with discards leaves to the pieces before it: a stream of events, which
// are replayed on the LRU stack with holes (StackHoles) at the end of these pieces. An access that
// fills a hole of its own piece leaves the depth of that stack as it is.
enum class PieceEvent : std::uint8_t {
  kAccess,           // first access to a block
  kFillingAccess,    // the same, filling a hole of the piece
  kColdAgain,        // access to a block that the piece accessed and discarded before
  kColdFirst,        // first access to a block that the piece discarded before
  kColdFirstFilled,  // the same, filling a hole of the piece
  kDiscardBegin,     // discards the keys from this one on
  kDiscardEnd,       // up to before this one; follows kDiscardBegin
};

// The state of a piece with discards, without the keys of its events and of its LRU stack.
struct PieceEvents {
  std::vector<PieceEvent> kinds;     // by event; empty if all are kAccess
  std::vector<std::uint64_t> holes;  // positions in the stack that have no block
  std::vector<std::uint64_t> gone;   // accessed blocks that are not in the stack
  Count cold_again = 0;              // cold accesses to blocks that were accessed before

  bool empty() const { return kinds.empty() && holes.empty() && gone.empty(); }
  friend bool operator==(const PieceEvents&, const PieceEvents&) = default;
};

// Accesses whose distance depends on earlier pieces, among `events` events.
std::size_t unresolved_in(const PieceEvents& events, std::size_t count);

// Ranges of keys; a range may end at 2^64, as 0.
class KeyRanges {
 public:
  void add(std::uint64_t begin, std::uint64_t end);
  bool covers(std::uint64_t key) const;
  bool empty() const { return last_of_.empty(); }

 private:
  std::map<std::uint64_t, std::uint64_t> last_of_;  // by first key; apart from one another
};

// The distance of an access that depends on earlier pieces.
inline constexpr Count kUnresolved = -2;

// Counts the distances of a piece, with discards between its accesses.
class PieceEngine {
 public:
  struct Discards {
    std::span<const std::uint64_t> at;  // accesses before each, never decreasing
    std::span<const std::uint64_t> begin;
    std::span<const std::uint64_t> end;
  };
  struct Result {
    DistanceHistogram resolved;
    std::vector<std::uint64_t> first;  // keys of events
    std::vector<std::uint64_t> last;   // the LRU stack
    PieceEvents events;
  };

  PieceEngine(std::span<const std::uint32_t> blocks, std::span<const std::uint64_t> key_of,
              Discards discards);

  // Counts the next accesses. Stores their distances unless `distances` is empty: kCold if the
  // access is cold whatever came before the piece.
  void process(std::size_t count, std::span<Count> distances);
  // Applies discards after the last access, and returns the result.
  Result finish();

 private:
  void process_run(std::span<const std::uint32_t> run, std::span<Count> distances);
  Count access(std::uint32_t block);
  void discard(std::uint64_t begin, std::uint64_t end);
  void push(PieceEvent kind, std::uint64_t key);

  std::span<const std::uint32_t> blocks_;
  std::span<const std::uint64_t> key_of_;
  Discards discards_;
  std::size_t done_ = 0;
  std::size_t discarded_ = 0;
  DenseDistances engine_;
  std::vector<bool> seen_;
  std::vector<std::uint32_t> by_key_;  // blocks in the order of their keys; from the first discard
  KeyRanges ranges_;
  Result result_;
};

// A piece, as input of a merge.
struct PieceView {
  std::span<const std::uint64_t> first;
  std::span<const std::uint64_t> last;
  const PieceEvents& events;
};

struct ReplayResult {
  DistanceHistogram resolved;        // distances found, and accesses found to be cold
  std::vector<std::uint64_t> first;  // events of `right` that depend on pieces before `left`
  std::vector<std::uint64_t> last;
  PieceEvents events;
  std::vector<Count> distances;  // of the unresolved accesses of `right`
};

// Replays the events of `right` on the stack of `left`. If nothing precedes `left`, no event is
// left, and if nothing follows `right`, no stack. Fails if a block occurs twice where each occurs
// once, which only damaged data has.
absl::StatusOr<ReplayResult> replay(const PieceView& left, const PieceView& right, bool starts,
                                    bool ends);

}  // namespace mcsim
