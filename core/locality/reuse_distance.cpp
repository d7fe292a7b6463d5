#include "core/locality/reuse_distance.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/locality/distance_counter.hpp"
#include "core/locality/distance_engine.hpp"

namespace mcsim {
namespace {

// Numbers the keys as they first appear; the rest is the engine for block
// numbers.
template <class Key, class Take>
void for_each_distance(std::span<const Key> keys, Take&& take) {
  boost::unordered_flat_map<Key, std::size_t> number_of;
  DistanceEngine engine;
  for (const Key key : keys) {
    const auto [entry, is_new] = number_of.try_emplace(key, number_of.size());
    if (is_new) engine.add_block();
    take(engine.access(entry->second));
  }
}

template <class Key>
std::vector<Count> list_distances(std::span<const Key> keys) {
  std::vector<Count> distances;
  distances.reserve(keys.size());
  for_each_distance(keys, [&](Count distance) { distances.push_back(distance); });
  return distances;
}

template <class Key>
DistanceHistogram count_distances(std::span<const Key> keys) {
  DistanceCounter counter;
  for_each_distance(keys, [&](Count distance) { counter.add(distance); });
  return counter.histogram();
}

}  // namespace

std::vector<Count> distances_of(std::span<const std::uint64_t> keys) {
  return list_distances(keys);
}
std::vector<Count> distances_of(std::span<const std::uint32_t> keys) {
  return list_distances(keys);
}
DistanceHistogram histogram_of(std::span<const std::uint64_t> keys) {
  return count_distances(keys);
}
DistanceHistogram histogram_of(std::span<const std::uint32_t> keys) {
  return count_distances(keys);
}

}  // namespace mcsim
