#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

// Twins one can see are right, and the streams to try them on. Slow on purpose.
namespace mcsim::naive {

using Keys = std::vector<std::uint64_t>;

// Mattson's stack: the depth of a key in the list of keys by recency; -1 if it
// is not in there.
inline std::vector<Count> distances(std::span<const std::uint64_t> keys) {
  std::list<std::uint64_t> stack;
  std::vector<Count> result;
  for (const std::uint64_t key : keys) {
    const auto found = std::find(stack.begin(), stack.end(), key);
    result.push_back(found == stack.end() ? -1 : std::distance(stack.begin(), found));
    if (found != stack.end()) stack.erase(found);
    stack.push_front(key);
  }
  return result;
}

// Mattson's stack with holes: a discarded block leaves one, and the next block that comes from
// below the topmost hole, or from outside, fills it. Thompson and Smith, TOCS 7(1), 1989.
class HoledStack {
 public:
  // The depth of the key before this access; -1 if it was not in there.
  Count access(std::uint64_t key) {
    const auto found = std::ranges::find(stack_, std::optional(key));
    const auto hole = std::ranges::find_if(stack_, [](const auto& block) { return !block; });
    const Count depth = found == stack_.end() ? -1 : found - stack_.begin();
    if (hole < found) {
      if (depth >= 0) *found = std::nullopt;
      stack_.erase(hole);
    } else if (depth >= 0) {
      stack_.erase(found);
    }
    stack_.insert(stack_.begin(), key);
    return depth;
  }
  // The depth of the discarded key; -1 if it was not in there.
  Count discard(std::uint64_t key) {
    const auto found = std::ranges::find(stack_, std::optional(key));
    if (found == stack_.end()) return -1;
    *found = std::nullopt;
    return found - stack_.begin();
  }

 private:
  std::vector<std::optional<std::uint64_t>> stack_;
};

// The histogram of Mattson's distances; those >= `limit` > 0 count as cold.
inline DistanceHistogram histogram(std::span<const std::uint64_t> keys, Count limit = 0) {
  std::map<Count, Count> counts;
  for (const Count distance : distances(keys)) {
    ++counts[limit > 0 && distance >= limit ? Count{-1} : distance];
  }
  DistanceHistogram result;
  result.cold = counts[-1];
  counts.erase(-1);
  for (const auto& [distance, count] : counts) {
    result.distance.push_back(distance);
    result.count.push_back(count);
  }
  return result;
}

// Hits of an LRU cache: a list by recency that loses its tail.
inline Count lru_hits(std::span<const std::uint64_t> keys, std::size_t capacity) {
  std::list<std::uint64_t> cache;
  Count hits = 0;
  for (const std::uint64_t key : keys) {
    const auto found = std::find(cache.begin(), cache.end(), key);
    if (found != cache.end()) {
      ++hits;
      cache.erase(found);
    }
    cache.push_front(key);
    if (cache.size() > capacity) cache.pop_back();
  }
  return hits;
}

inline Count unique(std::span<const std::uint64_t> keys) {
  return static_cast<Count>(std::set<std::uint64_t>(keys.begin(), keys.end()).size());
}

// Streams that break distance code: loops, repeats, reversals, one key, no key
// twice, and chance.
struct NamedStream {
  const char* name;
  Keys keys;
};

inline std::vector<NamedStream> awkward_streams() {
  std::vector<NamedStream> streams;
  const auto make = [&](const char* name, std::size_t length, auto&& key_at) {
    Keys keys;
    for (std::size_t i = 0; i < length; ++i) keys.push_back(key_at(i));
    streams.push_back({name, std::move(keys)});
  };
  Random random(20);
  make("empty", 0, [](std::size_t) { return 0U; });
  make("one access", 1, [](std::size_t) { return 7U; });
  make("one key", 700, [](std::size_t) { return ~std::uint64_t{0}; });
  make("all distinct", 700, [](std::size_t i) { return mix64(i); });
  make("loop of 64", 700, [](std::size_t i) { return i % 64; });
  make("loop of 65", 700, [](std::size_t i) { return i % 65; });
  make("each key twice", 700, [](std::size_t i) { return i / 2; });
  make("there and back", 600,
       [](std::size_t i) { return i % 200 < 100 ? i % 200 : 199 - i % 200; });
  make("uniform over 10", 900, [&](std::size_t) { return random.below(10); });
  make("uniform over 300", 900, [&](std::size_t) { return random.below(300); });
  make("skewed", 900, [&](std::size_t) { return random.below(1 + random.below(400)); });
  make("scan between hits", 900, [](std::size_t i) { return i % 3 == 0 ? i % 5 : 1000 + i; });
  return streams;
}

}  // namespace mcsim::naive
