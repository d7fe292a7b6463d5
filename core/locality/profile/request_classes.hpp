#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/key_table.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// What an access to a block does after what the last one did: read after read,
// read after write, write after read, write after write.
enum class RequestClass : std::uint8_t { kRar, kRaw, kWar, kWaw };
inline constexpr std::array kRequestClasses{RequestClass::kRar, RequestClass::kRaw,
                                            RequestClass::kWar, RequestClass::kWaw};

// Reuse distances by request class (ECI-Cache, Ahmadian et al., POMACS 2(1), 2018). TRD, the
// traditional distance, is that of every access; URD, the useful one, that of
// reads alone: a write after anything needs nothing from a cache. What a block
// met before this object was made is not known, so that whoever wants the classes
// of an interval starts another one with it.
//
// Unless `count_writes`, distances are those of the reads among each other, as
// in a cache that writes go around: a write has none, and a block's first read has
// none even if the block was written before. Classes are the same.
class RequestClasses {
 public:
  explicit RequestClasses(bool count_writes = true) : count_writes_(count_writes) {}

  // Fails if the references have no operations.
  absl::Status process(const References& next);

  Count accesses() const;
  Count accesses(RequestClass of) const { return seen_[index(of)]; }
  Count cold_reads() const { return cold_[0]; }
  Count cold_writes() const { return cold_[1]; }
  // Of all accesses; 0 if there were none.
  double fraction(RequestClass of) const;

  // Distances of one class; its accesses that have none are cold.
  DistanceHistogram distances(RequestClass of) const;
  // The largest of them, or -1.
  Count max_distance(RequestClass of) const;
  // Of all accesses; those without a distance of that kind are cold, so that the
  // hits of a curve are a share of all accesses.
  DistanceHistogram trd() const;
  DistanceHistogram urd() const;
  // Blocks with which LRU hits `quantile` in [0, 1] of the accesses that have a URD.
  Count urd_size(double quantile = 1) const;

  double distinct() const { return static_cast<double>(last_op_.size()); }
  // Beside the object itself.
  std::size_t bytes() const;

 private:
  static constexpr std::size_t index(RequestClass of) { return static_cast<std::size_t>(of); }

  absl::Status process_piece(const References& piece);
  DistanceHistogram of_all(std::initializer_list<RequestClass> counted) const;

  bool count_writes_;
  ExactDistances engine_;
  KeyTable<std::uint8_t> last_op_;
  std::array<std::vector<Count>, 4> with_distance_;  // accesses by class and distance
  std::array<Count, 4> seen_{};
  std::array<Count, 2> cold_{};          // by operation
  std::vector<std::uint64_t> measured_;  // keys of a piece that have a distance
  std::vector<Count> found_;             // and their distances
};

}  // namespace mcsim
