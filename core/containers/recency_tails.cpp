#include "core/containers/recency_tails.hpp"

namespace mcsim {

void RecencyTails::ask(Count length, std::uint64_t marks) {
  for (Log::Stack& stack : empty_) stack = Log::raised(stack, static_cast<Position>(marks));
  *this = RecencyTails(column_, std::move(empty_), length);
}

// How many blocks there will be at a time is not known: segments grow as they are squeezed.
std::vector<RecencyTails::Stack> RecencyTails::stacks() const {
  std::vector<Stack> stacks;
  for (Log::Stack stack : empty_) {
    stack.limit = std::min(stack.stop, stack.begin + static_cast<Position>(Log::kMinimum));
    stacks.push_back({.log = stack, .cut = stack.begin});
  }
  return stacks;
}

}  // namespace mcsim
