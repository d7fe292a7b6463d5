#include "core/locality/exact_distances.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/locality/distance_counter.hpp"
#include "core/locality/distance_engine.hpp"

namespace mcsim {

struct ExactDistances::State {
  boost::unordered_flat_map<std::uint64_t, std::size_t> number_of;
  DistanceEngine engine;
  DistanceCounter counter;

  Count next(std::uint64_t key) {
    const auto [entry, is_new] = number_of.try_emplace(key, number_of.size());
    if (is_new) engine.add_block();
    const Count distance = engine.access(entry->second);
    counter.add(distance);
    return distance;
  }
};

ExactDistances::ExactDistances() : state_(std::make_unique<State>()) {}
ExactDistances::ExactDistances(ExactDistances&&) noexcept = default;
ExactDistances& ExactDistances::operator=(ExactDistances&&) noexcept = default;
ExactDistances::~ExactDistances() = default;

absl::Status ExactDistances::process(std::span<const std::uint64_t> keys) {
  for (const std::uint64_t key : keys) state_->next(key);
  return absl::OkStatus();
}

absl::Status ExactDistances::process(std::span<const std::uint64_t> keys,
                                     std::span<Count> distances) {
  for (std::size_t i = 0; i < keys.size(); ++i) distances[i] = state_->next(keys[i]);
  return absl::OkStatus();
}

DistanceHistogram ExactDistances::histogram() const { return state_->counter.histogram(); }
Count ExactDistances::distinct() const { return state_->engine.distinct(); }
std::size_t ExactDistances::bytes() const { return 32 * state_->number_of.size(); }

}  // namespace mcsim
