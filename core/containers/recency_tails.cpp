#include "core/containers/recency_tails.hpp"

#include <utility>

namespace mcsim {
namespace {

std::vector<RecencyTails::Log::Stack> raised(std::vector<RecencyTails::Log::Stack> stacks,
                                             std::uint64_t marks) {
  for (RecencyTails::Log::Stack& stack : stacks) {
    stack = RecencyTails::Log::raised(stack, static_cast<RecencyTails::Log::Position>(marks));
  }
  return stacks;
}

}  // namespace

RecencyTails::RecencyTails(std::size_t universe, std::span<const std::uint64_t> most, Count length,
                           std::uint64_t marks)
    : RecencyTails(std::make_shared<SlotTable>(universe, 2), raised(Log::stacks(most), marks),
                   length) {}

RecencyTails::RecencyTails(const std::shared_ptr<SlotTable>& table, std::vector<Log::Stack> stacks,
                           Count length)
    : length_(length), notes_(table, 1), log_(TableColumn(table, 0), stacks) {
  for (Log::Stack& stack : stacks) {
    // How many blocks there will be at a time is not known: segments grow as they are squeezed.
    stack.limit = std::min(stack.stop, stack.begin + static_cast<Log::Position>(Log::kMinimum));
    owners_.push_back({.stack = stack, .cut = stack.begin});
  }
}

}  // namespace mcsim
