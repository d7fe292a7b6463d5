#include "policies/allocation/fading_hits.hpp"

#include <algorithm>
#include <cmath>

namespace mcsim {

void FadingHits::add(const HitTable& last, const std::vector<bool>& departed) {
  const double fade = half_life > 0 ? std::exp2(-1 / half_life) : 1;
  weight = fade * weight + 1;
  if (sums.hits.empty()) {
    sums = last;
    return;
  }
  for (std::size_t v = 0; v < last.hits.size(); ++v) {
    std::vector<double>& sum = sums.hits[v];
    sum.resize(last.hits[v].size(), sum.back());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = fade * sum[i] + last.hits[v][i];
    if (departed[v]) std::ranges::fill(sum, 0.0);
  }
}

}  // namespace mcsim
