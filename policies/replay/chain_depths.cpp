#include "policies/replay/chain_depths.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/guarded.hpp"
#include "core/base/pages.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/piece_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {
namespace {

// Blocks whose distances fit the processor's caches.
constexpr std::size_t kPart = std::size_t{1} << 14;

// The time of scanning an access backwards, as a share of that of counting it.
constexpr double kScanCost = 0.1;

// Return the first request of each piece, and the end.
std::vector<std::size_t> cuts_of(const Chains& chains, std::size_t pieces) {
  const auto blocks = static_cast<double>(chains.blocks.size());
  const double whole = 1 - std::pow(1 - kScanCost, pieces);
  std::vector<std::size_t> cuts{0};
  for (std::size_t i = 1; i < pieces; ++i) {
    const double share = (1 - std::pow(1 - kScanCost, i)) / whole;
    const auto at =
        std::ranges::upper_bound(chains.starts, static_cast<std::int64_t>(share * blocks));
    cuts.push_back(std::min(static_cast<std::size_t>(at - chains.starts.begin()), chains.size()));
  }
  cuts.push_back(chains.size());
  return cuts;
}

// Stores the blocks of a piece in the order in which its requests touch them.
void store_touched(const Chains& chains, RequestRange piece, std::span<BlockId> touched) {
  for (std::size_t i = piece.begin; i < piece.end; ++i) {
    std::ranges::reverse_copy(chains.chain(i), touched.begin() + chains.starts[i]);
  }
}

// Turns the distances of blocks from `at` on into depths. `request` is that of the first of them or
// an earlier one.
absl::Status find_depths(const Chains& chains, std::span<const Count> distances, std::size_t at,
                         std::size_t& request, std::span<std::uint32_t> depths) {
  const auto never = static_cast<std::uint32_t>(chains.unique);
  const std::size_t begin = at;
  const std::size_t end = at + distances.size();
  while (at < end) {
    while (static_cast<std::size_t>(chains.starts[request + 1]) <= at) ++request;
    const auto first = static_cast<std::size_t>(chains.starts[request]);
    const std::size_t stop = std::min(end, static_cast<std::size_t>(chains.starts[request + 1]));
    bool is_twice = false;
    for (; at < stop; ++at) {
      const Count distance = distances[at - begin];
      const auto touched = static_cast<Count>(at - first);
      is_twice |= distance != kCold && distance < touched;
      depths[at] = distance == kCold ? never : static_cast<std::uint32_t>(distance - touched);
    }
    if (is_twice) return invalid_argument("request {}: has a block twice", request + 1);
  }
  return absl::OkStatus();
}

absl::Status depths_of_piece(const Chains& chains, std::span<const BlockId> touched,
                             RequestRange range, std::span<std::uint32_t> depths) {
  const auto begin = static_cast<std::size_t>(chains.starts[range.begin]);
  const auto end = static_cast<std::size_t>(chains.starts[range.end]);
  const std::vector<BlockId> stack = stack_after(touched.first(begin), chains.unique);
  DenseDistances engine(chains.unique, numbers_of(std::span<const BlockId>(stack)));
  std::vector<Count> distances(std::min(kPart, end - begin));
  std::size_t request = range.begin;
  for (std::size_t at = begin; at < end; at += distances.size()) {
    distances.resize(std::min(kPart, end - at));
    engine.process(numbers_of(touched.subspan(at, distances.size())), distances);
    MCSIM_RETURN_IF_ERROR(find_depths(chains, distances, at, request, depths));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status chain_depths(const Chains& chains, std::size_t pieces,
                          std::span<std::uint32_t> depths) {
  const auto for_each_piece = [&](auto&& work) {
    const std::vector<std::size_t> cuts = cuts_of(chains, pieces);
    tbb::parallel_for(
        std::size_t{0}, pieces, [&](std::size_t i) { work(i, RequestRange{cuts[i], cuts[i + 1]}); },
        tbb::simple_partitioner());
  };
  return guarded("depths of chains", [&] {
    Pages<BlockId> touched(chains.blocks.size());
    const std::span<BlockId> all(touched.data(), touched.size());
    for_each_piece([&](std::size_t, RequestRange piece) { store_touched(chains, piece, all); });
    std::vector<absl::Status> done(pieces);
    for_each_piece([&](std::size_t i, RequestRange piece) {
      done[i] =
          guarded("depths of chains", [&] { return depths_of_piece(chains, all, piece, depths); });
    });
    for (const absl::Status& status : done) MCSIM_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  });
}

}  // namespace mcsim
