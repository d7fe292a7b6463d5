#include "core/locality/partial_distances.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/random.hpp"
#include "core/containers/rank_bitmap.hpp"
#include "core/locality/distance_counter.hpp"
#include "core/locality/distance_engine.hpp"

namespace mcsim {
namespace {

using Keys = std::vector<std::uint64_t>;

// How many blocks matter on either side of a piece.
std::size_t most_blocks(Count limit) {
  return limit == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
}

// Collects first accesses by the rule of the limit: one that comes after that
// many other blocks is cold whatever came before the piece.
class FirstAccesses {
 public:
  explicit FirstAccesses(Count limit, Keys first = {})
      : most_(most_blocks(limit)), first_(std::move(first)) {}

  void add(std::uint64_t key) {
    if (first_.size() < most_) {
      first_.push_back(key);
    } else {
      ++cold_;
    }
  }

  Count cold() const { return cold_; }
  Keys take() { return std::move(first_); }

 private:
  std::size_t most_;
  Keys first_;
  Count cold_ = 0;
};

// The LRU stack that a piece ended with, as the accesses after it meet it.
class LastAccesses {
 public:
  explicit LastAccesses(const Keys& last) : last_(last), waiting_(last.size(), true) {
    position_.reserve(last.size());
    for (std::size_t i = 0; i < last.size(); ++i) position_.emplace(last[i], i);
    live_.fill(last.size());
    count_ = static_cast<Count>(last.size());
  }

  // Takes the block out and says how many that are still in were accessed after
  // it; nothing if it is not in.
  std::optional<Count> take(std::uint64_t key) {
    const auto found = position_.find(key);
    if (found == position_.end()) return std::nullopt;
    const Count above = count_ - live_.rank(found->second);
    live_.clear(found->second);
    waiting_[found->second] = false;
    --count_;
    return above;
  }

  // What was not taken, with `newer` after it; the `most` most recent of them.
  Keys with(const Keys& newer, std::size_t most) const {
    const std::size_t room = most - std::min(most, newer.size());
    auto skip = static_cast<std::size_t>(count_) - std::min(room, static_cast<std::size_t>(count_));
    Keys result;
    result.reserve(static_cast<std::size_t>(count_) - skip + newer.size());
    for (std::size_t i = 0; i < last_.size(); ++i) {
      if (!waiting_[i]) continue;
      if (skip > 0) {
        --skip;
      } else {
        result.push_back(last_[i]);
      }
    }
    result.insert(result.end(), newer.begin(), newer.end());
    return result;
  }

 private:
  const Keys& last_;
  boost::unordered_flat_map<std::uint64_t, std::size_t> position_;  // in last_
  RankBitmap live_;
  std::vector<bool> waiting_;  // the same bits, to be read one by one
  Count count_ = 0;            // of them
};

// The form on disk, all words little-endian: magic, version, limit, cold, n, m,
// n distances, n counts, m first blocks, m last blocks, checksum of all before.
constexpr std::uint64_t kMagic = 0x0044506d6973636dULL;  // "mcsimPD"
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderWords = 6;
constexpr std::size_t kWordBytes = 8;

std::uint64_t checksum(std::uint64_t so_far, std::uint64_t word) { return mix64(so_far ^ word); }

class Writer {
 public:
  explicit Writer(std::size_t words) { bytes_.reserve(words * kWordBytes); }

  void put(std::uint64_t word) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(word >> shift)));
    }
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
  for (std::size_t i = kWordBytes; i-- > 0;) {
    word = word << 8 | static_cast<unsigned char>(bytes[index * kWordBytes + i]);
  }
  return word;
}

template <class T>
std::vector<T> words_at(std::string_view bytes, std::size_t begin, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(word_at(bytes, begin + i));
  return values;
}

// Of what passed the checksum, hence only of what another program wrote.
absl::Status check(const PartialDistances& partial) {
  const auto contradiction = [](std::string_view what) {
    return data_loss("partial distances contradict themselves: {}", what);
  };
  const DistanceHistogram& resolved = partial.resolved;
  if (partial.limit < 0 || resolved.cold < 0) return contradiction("a negative limit or count");
  if (partial.limit == 0 && resolved.cold > 0) return contradiction("cold without a limit");
  Count accesses = resolved.cold;
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
  Keys first = partial.first;
  Keys last = partial.last;
  std::ranges::sort(first);
  std::ranges::sort(last);
  if (std::ranges::adjacent_find(first) != first.end() ||
      std::ranges::adjacent_find(last) != last.end()) {
    return contradiction("a block twice");
  }
  // At the limit some blocks may be among the first alone, others among the last.
  if (partial.first.size() < most && first != last) {
    return contradiction("first accesses to other blocks than last ones");
  }
  return absl::OkStatus();
}

}  // namespace

DistanceHistogram PartialDistances::histogram() const {
  DistanceHistogram result = resolved;
  result.cold += static_cast<Count>(first.size());
  return result;
}

PartialDistances analyse(std::span<const std::uint64_t> keys, Count limit) {
  boost::unordered_flat_map<std::uint64_t, std::size_t> number_of;
  std::vector<std::size_t> last_position;  // by number
  DistanceEngine engine;
  DistanceCounter counter(limit);
  FirstAccesses first(limit);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [entry, is_new] = number_of.try_emplace(keys[i], number_of.size());
    if (is_new) {
      engine.add_block();
      engine.access(entry->second);
      first.add(keys[i]);
      last_position.push_back(i);
    } else {
      counter.add(engine.access(entry->second));
      last_position[entry->second] = i;
    }
  }
  PartialDistances result{.limit = limit, .resolved = counter.histogram(), .first = {}, .last = {}};
  result.resolved.cold += first.cold();
  result.first = first.take();
  std::ranges::sort(last_position);
  const std::size_t kept = std::min(last_position.size(), most_blocks(limit));
  for (const std::size_t position : std::span(last_position).last(kept)) {
    result.last.push_back(keys[position]);
  }
  return result;
}

absl::StatusOr<PartialDistances> merge(const PartialDistances& left,
                                       const PartialDistances& right) {
  if (left.limit != right.limit) {
    return invalid_argument("partial distances of limit {} cannot be merged with those of limit {}",
                            left.limit, right.limit);
  }
  const std::size_t most = most_blocks(left.limit);
  // Below the limit `left.last` has every block of `left`: another is new to both.
  const bool left_knows_all = left.last.size() < most;
  LastAccesses before(left.last);
  FirstAccesses first(left.limit, left.first);
  DistanceCounter counter(left.limit);
  for (std::size_t k = 0; k < right.first.size(); ++k) {
    const std::optional<Count> above = before.take(right.first[k]);
    if (above.has_value()) {
      // The k blocks that `right` touched before this one are not in there any more.
      counter.add(*above + static_cast<Count>(k));
    } else if (left_knows_all) {
      first.add(right.first[k]);
    } else {
      counter.add(kCold);
    }
  }
  PartialDistances result{.limit = left.limit, .resolved = left.resolved, .first = {}, .last = {}};
  result.resolved.merge(right.resolved);
  result.resolved.merge(counter.histogram());
  result.resolved.cold += first.cold();
  result.first = first.take();
  result.last = before.with(right.last, most);
  return result;
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
  const std::size_t words = bytes.size() / kWordBytes;
  if (words == 0 || word_at(bytes, 0) != kMagic) {
    return data_loss("these are not partial distances: they begin otherwise");
  }
  if (words > 1 && word_at(bytes, 1) != kVersion) {
    return data_loss("partial distances of version {}; this program knows version {}",
                     word_at(bytes, 1), kVersion);
  }
  if (words <= kHeaderWords) {
    return data_loss("partial distances end in their head, after {} bytes", bytes.size());
  }
  // Neither length is trusted before it is seen to fit.
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

}  // namespace mcsim
