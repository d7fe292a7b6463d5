#include "core/locality/profile/distance_log.hpp"

namespace mcsim {

void DistanceLog::end_interval() {
  within_end_.push_back(within_.size());
  across_end_.push_back(across_.size());
}

void DistanceLog::shrink_to_fit() {
  within_.shrink_to_fit();
  across_.shrink_to_fit();
}

std::span<const DistanceCount> DistanceLog::within(std::size_t interval) const {
  const std::size_t begin = within_end_[interval];
  return std::span(within_).subspan(begin, within_end_[interval + 1] - begin);
}

std::span<const DistanceCount> DistanceLog::across(std::size_t interval) const {
  const std::size_t begin = across_end_[interval];
  return std::span(across_).subspan(begin, across_end_[interval + 1] - begin);
}

}  // namespace mcsim
