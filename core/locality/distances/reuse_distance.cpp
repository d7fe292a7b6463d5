#include "core/locality/distances/reuse_distance.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {
namespace {

using Wide = std::span<const std::uint64_t>;
using Narrow = std::span<const std::uint32_t>;

// Calls dense(blocks) if the keys are numbers below `blocks` about as dense as those of an interned
// trace. Otherwise calls process(begin, piece) with the keys piece by piece.
template <class Dense, class Process>
absl::Status dense_or_keys(Narrow keys, Dense&& dense, Process&& process) {
  const std::size_t bound = keys.empty() ? 0 : std::size_t{*std::ranges::max_element(keys)} + 1;
  if (bound <= 4 * keys.size() && bound <= std::size_t{DistanceOptions::kMaxBlocks}) {
    dense(bound);
    return absl::OkStatus();
  }
  constexpr std::size_t kPiece = 4096;
  std::vector<std::uint64_t> wide;
  for (std::size_t begin = 0; begin < keys.size(); begin += kPiece) {
    const Narrow piece = keys.subspan(begin, std::min(kPiece, keys.size() - begin));
    wide.assign(piece.begin(), piece.end());
    MCSIM_RETURN_IF_ERROR(process(begin, wide));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Count>> distances_of(Wide keys) {
  return guarded("reuse distances", [&]() -> absl::StatusOr<std::vector<Count>> {
    ExactDistances exact;
    std::vector<Count> distances(keys.size());
    MCSIM_RETURN_IF_ERROR(exact.process(keys, distances));
    return distances;
  });
}

absl::StatusOr<std::vector<Count>> distances_of(Narrow keys) {
  return guarded("reuse distances", [&]() -> absl::StatusOr<std::vector<Count>> {
    ExactDistances exact;
    std::vector<Count> distances(keys.size());
    MCSIM_RETURN_IF_ERROR(dense_or_keys(
        keys, [&](std::size_t blocks) { DenseDistances(blocks).process(keys, distances); },
        [&](std::size_t begin, Wide piece) {
          return exact.process(piece, std::span(distances).subspan(begin, piece.size()));
        }));
    return distances;
  });
}

absl::StatusOr<std::vector<Count>> distances_of(const References& references) {
  return guarded("reuse distances", [&]() -> absl::StatusOr<std::vector<Count>> {
    ExactDistances exact;
    std::vector<Count> distances(references.keys.size());
    std::span<Count> rest = distances;
    MCSIM_RETURN_IF_ERROR(for_each_run(
        references,
        [&](const References& run) {
          const auto found = rest.first(run.keys.size());
          rest = rest.subspan(run.keys.size());
          return exact.process(run.keys, found);
        },
        [&](std::uint64_t key) { exact.discard(key); }));
    return distances;
  });
}

absl::StatusOr<DistanceHistogram> histogram_of(Wide keys) {
  return guarded("reuse distances", [&]() -> absl::StatusOr<DistanceHistogram> {
    ExactDistances exact;
    MCSIM_RETURN_IF_ERROR(exact.process(keys));
    return exact.histogram();
  });
}

absl::StatusOr<DistanceHistogram> histogram_of(Narrow keys) {
  return guarded("reuse distances", [&]() -> absl::StatusOr<DistanceHistogram> {
    ExactDistances exact;
    std::optional<DistanceHistogram> counted;
    MCSIM_RETURN_IF_ERROR(dense_or_keys(
        keys,
        [&](std::size_t blocks) {
          DenseDistances dense(blocks);
          dense.process(keys);
          counted = dense.histogram();
        },
        [&](std::size_t, Wide piece) { return exact.process(piece); }));
    return counted ? *std::move(counted) : exact.histogram();
  });
}

}  // namespace mcsim
