#include "core/containers/recency_tails.hpp"

#include <utility>

namespace mcsim {

RecencyTails::RecencyTails(std::size_t universe, std::span<const std::uint64_t> most, Count length)
    : RecencyTails(universe, Log::stacks(most), length) {}

RecencyTails::RecencyTails(std::size_t universe, std::vector<Log::Stack> stacks, Count length)
    : length_(length), log_(universe, stacks) {
  for (Log::Stack& stack : stacks) {
    // How many blocks there will be at a time is not known: segments grow as they are squeezed.
    stack.limit = std::min(stack.stop, stack.begin + static_cast<Log::Position>(Log::kMinimum));
    owners_.push_back({.stack = stack, .cut = stack.begin});
  }
}

}  // namespace mcsim
