#include "core/locality/distances/hash_ranges.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/base/guarded.hpp"
#include "core/base/random.hpp"
#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {
namespace {

constexpr int kKeyBits = 48;  // the others number the VM

using Begins = std::array<std::size_t, kHashRanges>;

// Where each range begins among grouped elements.
Begins begins_of(std::span<const std::uint8_t> range_of) {
  Begins counts{};
  for (const std::uint8_t range : range_of) ++counts[range];
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::size_t{0});
  return counts;
}

// Counts of numbers, and how many are above a number (Fenwick tree).
class CountsAbove {
 public:
  explicit CountsAbove(std::size_t numbers) : tree_(numbers + 1) {}

  void add(std::size_t number) {
    for (std::size_t at = number + 1; at > 0; at &= at - 1) ++tree_[at - 1];
  }
  std::uint32_t above(std::size_t number) const {
    std::uint32_t sum = 0;
    for (std::size_t at = number + 2; at <= tree_.size(); at += at & -at) sum += tree_[at - 1];
    return sum;
  }

 private:
  std::vector<std::uint32_t> tree_;
};

absl::StatusOr<RankedMoves> ranked(std::span<const std::uint8_t> range_of,
                                   std::span<const std::uint16_t> piece,
                                   std::span<const std::uint32_t> access, std::size_t pieces) {
  const bool fits =
      piece.size() == range_of.size() && access.size() == range_of.size() &&
      std::ranges::all_of(piece, [&](std::uint16_t number) { return number <= pieces; });
  if (!fits) return data_loss("hash ranges: moves do not fit their stack");
  RankedMoves result;
  result.count.resize(pieces + 1);
  for (const std::uint16_t number : piece) ++result.count[number];
  std::vector<std::size_t> end(pieces + 1);
  std::inclusive_scan(result.count.begin(), result.count.end(), end.begin());
  result.above.resize(piece.size() - result.count[pieces]);
  result.access.resize(result.above.size());
  Begins next = begins_of(range_of);
  for (const std::uint8_t range : range_of) ++next[range];
  CountsAbove counts(pieces);
  for (std::size_t i = range_of.size(); i-- > 0;) {
    const std::size_t at = --next[range_of[i]];
    const std::size_t number = piece[at];
    if (number < pieces) {
      const std::size_t slot = --end[number];
      result.above[slot] = counts.above(number);
      result.access[slot] = access[at];
    }
    counts.add(number);
  }
  return result;
}

}  // namespace

std::uint8_t hash_range(std::uint64_t key) {
  return static_cast<std::uint8_t>(mix64(key & ((std::uint64_t{1} << kKeyBits) - 1)) >> 56U);
}

GroupedKeys group_by_hash(std::span<const std::uint64_t> keys) {
  GroupedKeys result{.range_of = std::vector<std::uint8_t>(keys.size()),
                     .keys = std::vector<std::uint64_t>(keys.size()),
                     .count = std::vector<std::uint64_t>(kHashRanges)};
  std::ranges::transform(keys, result.range_of.begin(), hash_range);
  Begins next = begins_of(result.range_of);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ++result.count[result.range_of[i]];
    result.keys[next[result.range_of[i]]++] = keys[i];
  }
  return result;
}

absl::StatusOr<std::vector<std::uint64_t>> ungroup(std::span<const std::uint8_t> range_of,
                                                   std::span<const std::uint64_t> keys) {
  if (range_of.size() != keys.size()) return data_loss("hash ranges: keys without a range");
  Begins next = begins_of(range_of);
  std::vector<std::uint64_t> result(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) result[i] = keys[next[range_of[i]]++];
  return result;
}

std::vector<std::uint32_t> positions_of_groups(std::span<const std::uint8_t> range_of) {
  Begins next = begins_of(range_of);
  std::vector<std::uint32_t> result(range_of.size());
  for (std::size_t i = 0; i < range_of.size(); ++i) {
    result[next[range_of[i]]++] = static_cast<std::uint32_t>(i);
  }
  return result;
}

RangeJoin::RangeJoin(std::size_t pieces) : pieces_(pieces) {}

absl::Status RangeJoin::add(std::span<const std::uint64_t> first, std::uint32_t first_at,
                            std::span<const std::uint64_t> last) {
  return guarded("hash ranges", [&] { return add_keys(first, first_at, last); });
}

absl::Status RangeJoin::add_keys(std::span<const std::uint64_t> first, std::uint32_t first_at,
                                 std::span<const std::uint64_t> last) {
  if (added_ == pieces_ || pieces_ > std::numeric_limits<std::uint16_t>::max()) {
    return invalid_argument("hash ranges: more pieces than announced, or more than 65535");
  }
  const std::size_t before = moves_.piece.size();
  if (before + last.size() > std::size_t{DistanceOptions::kMaxBlocks}) {
    return too_many_blocks(DistanceOptions::kMaxBlocks);
  }
  std::vector<std::uint32_t> entries(std::max(first.size(), last.size()));
  const auto of_first = std::span(entries).first(first.size());
  newest_.find(first, of_first);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (of_first[i] == 0) continue;
    std::uint16_t& piece = moves_.piece[of_first[i] - 1];
    if (piece != pieces_) return data_loss("hash ranges: a block twice");
    piece = static_cast<std::uint16_t>(added_);
    moves_.access[of_first[i] - 1] = first_at + static_cast<std::uint32_t>(i);
  }
  const auto of_last = std::span(entries).first(last.size());
  const auto from = static_cast<std::uint32_t>(before + 1);
  std::iota(of_last.begin(), of_last.end(), from);
  moves_.piece.resize(before + last.size(), static_cast<std::uint16_t>(pieces_));
  moves_.access.resize(before + last.size());
  std::vector<std::uint32_t> previous(last.size());
  newest_.exchange(last, of_last, from, previous.data());
  if (std::ranges::any_of(previous, [&](std::uint32_t entry) { return entry >= from; })) {
    return data_loss("hash ranges: a block twice");
  }
  ++added_;
  return absl::OkStatus();
}

absl::StatusOr<RankedMoves> rank_moves(std::span<const std::uint8_t> range_of,
                                       std::span<const std::uint16_t> piece,
                                       std::span<const std::uint32_t> access, std::size_t pieces) {
  return guarded("hash ranges", [&] { return ranked(range_of, piece, access, pieces); });
}

}  // namespace mcsim
