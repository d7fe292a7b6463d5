#include "core/locality/profile/distance_log.hpp"

#include <cassert>

namespace mcsim {

void DistanceLog::end_period(Count accesses) {
  for (List& list : of_age_) list.end.push_back(list.counts.size());
  accesses_.push_back(accesses);
}

void DistanceLog::shrink_to_fit() {
  for (List& list : of_age_) list.counts.shrink_to_fit();
}

std::span<const DistanceCount> DistanceLog::of(std::size_t period, std::size_t age) const {
  assert(age <= ages() && period < periods());
  const List& list = of_age_[age];
  const std::size_t begin = list.end[period];
  return std::span(list.counts).subspan(begin, list.end[period + 1] - begin);
}

}  // namespace mcsim
