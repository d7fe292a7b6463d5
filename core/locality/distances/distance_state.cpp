#include "core/locality/distances/distance_state.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace mcsim {

void DistanceBins::make_room(std::uint64_t end, std::size_t more) {
  assert(more <= std::numeric_limits<std::uint32_t>::max());
  const std::size_t bins = end == 0 ? 0 : bin_of(end - 1, bits_) + 1;
  if (bins > counts_.size()) {
    // The space beyond the bins in use costs addresses, not memory.
    counts_.extend(std::max<std::size_t>(2 * bins, 1024));
  }
  in_use_ = std::max(in_use_, bins);
  if (counted_ > std::numeric_limits<std::uint32_t>::max() - more) carry();
  counted_ += more;
}

void DistanceBins::carry() {
  carried_.resize(in_use_);
  for (std::size_t bin = 0; bin < in_use_; ++bin) {
    carried_[bin] += counts_[bin];
    counts_[bin] = 0;
  }
  counted_ = 0;
}

void DistanceBins::clear() {
  std::fill_n(counts_.data(), in_use_, 0);
  carried_.clear();
  in_use_ = 0;
  counted_ = 0;
}

DistanceHistogram DistanceBins::histogram(Count cold) const {
  DistanceHistogram result;
  for (std::size_t bin = 0; bin < in_use_; ++bin) {
    const Count count = counts_[bin] + (bin < carried_.size() ? carried_[bin] : 0);
    if (count == 0) continue;
    result.distance.push_back(static_cast<Count>(last_of(bin, bits_)));
    result.count.push_back(count);
  }
  result.cold = cold;
  return result;
}

TimeAxis::TimeAxis() : slots(kFewestSlots) {}

void TimeAxis::advance(std::size_t accesses) {
  assert(accesses <= room_in_line());
  now += accesses;
  if (now % LiveSlots::kLineCodes == LiveSlots::kLineSlots) {
    now += LiveSlots::kLineCodes - LiveSlots::kLineSlots;
  }
}

void TimeAxis::reset_for_blocks(std::size_t entries) {
  // With an axis as long as the table, moving stays cheap while few table entries are in use.
  reset_with_slots(std::max(kSlotsPerBlock * static_cast<std::size_t>(live), entries));
}

void TimeAxis::reset_with_slots(std::size_t wanted) {
  now = LiveSlots::code_of(static_cast<std::uint32_t>(live));
  wanted = std::max(wanted, kFewestSlots);
  if (wanted > slots.size() || wanted < slots.size() / 4) {
    slots = LiveSlots(std::min(wanted, LiveSlots::kMaxSlots));
  } else {
    slots.fill();
  }
}

void StackHoles::add(std::uint32_t code) {
  codes.push_back(code);
  std::ranges::push_heap(codes);
}

std::uint32_t StackHoles::fill(std::uint32_t code) {
  if (codes.empty() || codes.front() < code) return code;
  const std::uint32_t filled = codes.front();
  std::ranges::pop_heap(codes);
  codes.pop_back();
  if (code != 0) add(code);
  return filled;
}

}  // namespace mcsim
