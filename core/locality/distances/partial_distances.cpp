#include "core/locality/distances/partial_distances.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/base/random.hpp"
#include "core/containers/block_table.hpp"
#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {
namespace {

using Keys = std::vector<std::uint64_t>;

// The maximum number of first or last blocks to keep for a piece.
std::size_t most_blocks(Count limit) {
  return limit == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
}

// Blocks in the order of their first access, while they are fewer than `most`.
Keys first_accesses(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> numbers,
                    std::size_t most) {
  Keys first;
  for (std::size_t i = 0; i < keys.size() && first.size() < most; ++i) {
    if (numbers[i] == first.size()) first.push_back(keys[i]);
  }
  return first;
}

// The `most` most recently accessed of `blocks` blocks, the most recent one last.
Keys last_accesses(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> numbers,
                   std::size_t blocks, std::size_t most) {
  Keys last;
  std::vector<bool> seen(blocks);
  for (std::size_t i = keys.size(); i-- > 0 && last.size() < std::min(blocks, most);) {
    if (!seen[numbers[i]]) last.push_back(keys[i]);
    seen[numbers[i]] = true;
  }
  std::ranges::reverse(last);
  return last;
}

// Marks the places of `left` that a piece accessed; fails if it accessed one twice.
absl::StatusOr<std::vector<bool>> marked(std::size_t depth, std::span<const std::uint32_t> places) {
  std::vector<bool> moved(depth + 1);
  for (const std::uint32_t place : places) {
    if (place != 0 && moved[place]) return data_loss("partial distances: a block twice");
    moved[place] = true;
  }
  return moved;
}

// The `most` topmost blocks of the LRU stack after a piece, which began with the stack `left`,
// accessed the `moved` places of `left`, and alone would end with the stack `right`.
Keys stack_after(const Keys& left, const std::vector<bool>& moved, const Keys& right,
                 std::size_t most) {
  Keys stack(right.rbegin(), right.rend());
  for (std::size_t i = left.size(); i-- > 0 && stack.size() < most;) {
    if (!moved[i + 1]) stack.push_back(left[i]);
  }
  std::ranges::reverse(stack);
  return stack;
}

// The form on disk, all words little-endian: magic, version, limit, cold, n, m,
// n distances, n counts, m first blocks, m last blocks, checksum of all before.
constexpr std::uint64_t kMagic = 0x0044506d6973636dULL;  // "mcsimPD"
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderWords = 6;
constexpr std::size_t kWordBytes = 8;

std::uint64_t checksum(std::uint64_t so_far, std::uint64_t word) { return mix64(so_far ^ word); }

// Converts between little-endian and native byte order.
std::uint64_t little_endian(std::uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

class Writer {
 public:
  explicit Writer(std::size_t words) { bytes_.reserve(words * kWordBytes); }

  void put(std::uint64_t word) {
    const auto bytes = std::bit_cast<std::array<char, kWordBytes>>(little_endian(word));
    bytes_.append(bytes.data(), bytes.size());
    checksum_ = checksum(checksum_, word);
  }

  template <class T>
  void put(const std::vector<T>& values) {
    for (const T value : values) put(static_cast<std::uint64_t>(value));
  }

  std::string finish() {
    put(checksum_);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::uint64_t checksum_ = 0;
};

std::uint64_t word_at(std::string_view bytes, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + index * kWordBytes, kWordBytes);
  return little_endian(word);
}

template <class T>
std::vector<T> words_at(std::string_view bytes, std::size_t begin, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(word_at(bytes, begin + i));
  return values;
}

// The sorted keys; duplicates are kept.
Keys sorted(Keys keys) {
  std::ranges::sort(keys);
  return keys;
}

// Sorts keys below `end` by counting; a key occurs at most twice in the result.
Keys sorted_numbers(const Keys& numbers, std::uint64_t end) {
  std::vector<std::uint8_t> times(end);  // up to 2
  for (const std::uint64_t number : numbers) times[number] = times[number] == 0 ? 1 : 2;
  Keys result;
  result.reserve(numbers.size());
  for (std::uint64_t number = 0; number < end; ++number) {
    for (int i = times[number]; i > 0; --i) result.push_back(number);
  }
  return result;
}

Keys in_order(const Keys& keys) {
  const std::uint64_t greatest = keys.empty() ? 0 : std::ranges::max(keys);
  return greatest / 8 < keys.size() ? sorted_numbers(keys, greatest + 1) : sorted(keys);
}

// Checks data with a valid checksum: only another writer can have made inconsistent data.
absl::Status check(const PartialDistances& partial) {
  const auto contradiction = [](std::string_view what) {
    return data_loss("partial distances: inconsistent data: {}", what);
  };
  const DistanceHistogram& resolved = partial.resolved;
  if (partial.limit < 0 || resolved.cold < 0) return contradiction("a negative limit or count");
  if (partial.limit == 0 && resolved.cold > 0) return contradiction("cold without a limit");
  Count accesses = resolved.cold;
  if (__builtin_add_overflow(accesses, static_cast<Count>(partial.first.size()), &accesses)) {
    return contradiction("more accesses than can be counted");
  }
  for (std::size_t i = 0; i < resolved.distance.size(); ++i) {
    const Count below = i == 0 ? -1 : resolved.distance[i - 1];
    if (resolved.distance[i] <= below) return contradiction("distances that do not increase");
    if (resolved.count[i] <= 0) return contradiction("a distance that did not occur");
    if (__builtin_add_overflow(accesses, resolved.count[i], &accesses)) {
      return contradiction("more accesses than can be counted");
    }
  }
  const std::size_t most = most_blocks(partial.limit);
  if (partial.first.size() > most) return contradiction("more blocks than the limit");
  const auto blocks = static_cast<Count>(partial.first.size());
  if (!resolved.distance.empty() && resolved.distance.back() >= blocks) {
    return contradiction("a distance above the number of blocks");
  }
  const Keys first = in_order(partial.first);
  const Keys last = in_order(partial.last);
  if (std::ranges::adjacent_find(first) != first.end() ||
      std::ranges::adjacent_find(last) != last.end()) {
    return contradiction("a block twice");
  }
  // At the limit, some blocks may be only among the first, others only among the last.
  if (partial.first.size() < most && first != last) {
    return contradiction("first accesses to other blocks than last ones");
  }
  return absl::OkStatus();
}

absl::StatusOr<PartialDistances> merged(PartialDistances left, const PartialDistances& right,
                                        const MergeOptions& options) {
  if (left.limit != right.limit) {
    return invalid_argument("partial distances of limit {} cannot be merged with those of limit {}",
                            left.limit, right.limit);
  }
  Count together = 0;
  if (__builtin_add_overflow(left.histogram().accesses(), right.histogram().accesses(),
                             &together)) {
    return out_of_range("partial distances of more accesses than can be counted together");
  }
  if (left.last.size() + right.first.size() > std::size_t{DistanceOptions::kMaxBlocks}) {
    return too_many_blocks(DistanceOptions::kMaxBlocks);
  }
  const std::size_t most = most_blocks(left.limit);
  std::vector<std::uint32_t> places(right.first.size());
  {
    BlockTable stack;
    std::vector<std::uint32_t> unused(left.last.size());
    stack.number(left.last, unused);
    if (stack.size() != left.last.size()) return data_loss("partial distances: a block twice");
    stack.find(right.first, places);
  }
  MCSIM_ASSIGN_OR_RETURN(const std::vector<bool> moved, marked(left.last.size(), places));
  DistanceHistogram found = distances_in_stack(left.last.size(), places, options.distances);
  if (left.limit > 0) found.truncate(left.limit);
  const std::size_t first_of_left = left.first.size();
  PartialDistances result{
      .limit = left.limit,
      .resolved = std::move(left.resolved),
      .first = std::move(left.first),
      .last = options.ends ? Keys() : stack_after(left.last, moved, right.last, most)};
  // Below the limit the stack has every block of `left`; the remaining blocks are new to both
  // pieces and depend on what came before.
  for (std::size_t i = 0; i < places.size() && result.first.size() < most && !options.starts; ++i) {
    if (places[i] == 0) result.first.push_back(right.first[i]);
  }
  result.resolved.merge(right.resolved);
  result.resolved.merge(found);
  result.resolved.cold -= static_cast<Count>(result.first.size() - first_of_left);
  return result;
}

absl::StatusOr<PartialDistances> read(std::string_view bytes) {
  const std::size_t words = bytes.size() / kWordBytes;
  if (words == 0 || word_at(bytes, 0) != kMagic) {
    return data_loss("not partial distances: wrong magic number");
  }
  if (words > 1 && word_at(bytes, 1) != kVersion) {
    return data_loss("partial distances of version {}: expected version {}", word_at(bytes, 1),
                     kVersion);
  }
  if (words <= kHeaderWords) {
    return data_loss("partial distances end in their head, after {} bytes", bytes.size());
  }
  // Checks both lengths against the size before they are used.
  const std::uint64_t distances = word_at(bytes, 4);
  const std::uint64_t blocks = word_at(bytes, 5);
  const bool lengths_fit = bytes.size() % kWordBytes == 0 && distances <= words &&
                           blocks <= words && kHeaderWords + 2 * (distances + blocks) + 1 == words;
  if (!lengths_fit) {
    return data_loss("partial distances of {} distances and {} blocks cannot have {} bytes",
                     distances, blocks, bytes.size());
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < words; ++i) sum = checksum(sum, word_at(bytes, i));
  if (sum != word_at(bytes, words - 1)) {
    return data_loss("partial distances are damaged: their checksum does not match");
  }
  const std::size_t first_at = kHeaderWords + 2 * distances;
  PartialDistances result{
      .limit = static_cast<Count>(word_at(bytes, 2)),
      .resolved = {.distance = words_at<Count>(bytes, kHeaderWords, distances),
                   .count = words_at<Count>(bytes, kHeaderWords + distances, distances),
                   .cold = static_cast<Count>(word_at(bytes, 3))},
      .first = words_at<std::uint64_t>(bytes, first_at, blocks),
      .last = words_at<std::uint64_t>(bytes, first_at + blocks, blocks)};
  MCSIM_RETURN_IF_ERROR(check(result));
  return result;
}

}  // namespace

DistanceHistogram distances_in_stack(std::size_t depth, std::span<const std::uint32_t> places,
                                     std::span<Count> distances) {
  std::vector<std::uint32_t> blocks(std::max(depth, places.size()));
  std::iota(blocks.begin(), blocks.end(), 0U);
  const auto fresh = static_cast<std::size_t>(std::ranges::count(places, 0U));
  DenseDistances engine(depth + fresh, std::span<const std::uint32_t>(blocks).first(depth));
  auto next = static_cast<std::uint32_t>(depth);
  for (std::size_t i = 0; i < places.size(); ++i) {
    blocks[i] = places[i] == 0 ? next++ : places[i] - 1;
  }
  const auto accesses = std::span<const std::uint32_t>(blocks).first(places.size());
  if (distances.empty()) {
    engine.process(accesses);
  } else {
    engine.process(accesses, distances);
  }
  return engine.histogram();
}

DistanceHistogram PartialDistances::histogram() const {
  DistanceHistogram result = resolved;
  result.cold += static_cast<Count>(first.size());
  return result;
}

PartialDistances analyse(std::span<const std::uint64_t> keys, Count limit) {
  assert(limit >= 0);
  BlockTable table;
  std::vector<std::uint32_t> numbers(keys.size());
  table.number(keys, numbers);
  DenseDistances distances(table.size());
  distances.process(numbers);
  const std::size_t most = most_blocks(limit);
  PartialDistances result{.limit = limit,
                          .resolved = distances.histogram(),
                          .first = first_accesses(keys, numbers, most),
                          .last = last_accesses(keys, numbers, table.size(), most)};
  if (limit > 0) result.resolved.truncate(limit);
  result.resolved.cold -= static_cast<Count>(result.first.size());
  return result;
}

absl::StatusOr<PartialDistances> merge(const PartialDistances& left,
                                       const PartialDistances& right) {
  return guarded("partial distances", [&] { return merged(left, right, {}); });
}

absl::StatusOr<PartialDistances> merge(PartialDistances&& left, const PartialDistances& right,
                                       const MergeOptions& options) {
  return guarded("partial distances", [&] { return merged(std::move(left), right, options); });
}

std::string PartialDistances::to_bytes() const {
  Writer writer(kHeaderWords + 2 * resolved.distance.size() + 2 * first.size() + 1);
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(static_cast<std::uint64_t>(limit));
  writer.put(static_cast<std::uint64_t>(resolved.cold));
  writer.put(resolved.distance.size());
  writer.put(first.size());
  writer.put(resolved.distance);
  writer.put(resolved.count);
  writer.put(first);
  writer.put(last);
  return writer.finish();
}

absl::StatusOr<PartialDistances> PartialDistances::from_bytes(std::string_view bytes) {
  return guarded("partial distances", [&] { return read(bytes); });
}

}  // namespace mcsim
