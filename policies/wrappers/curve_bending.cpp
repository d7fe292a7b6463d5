#include "policies/wrappers/curve_bending.hpp"

#include <algorithm>

namespace mcsim {

std::vector<CurvePoint> lower_hull(std::span<const CurvePoint> curve) {
  std::vector<CurvePoint> hull;
  const auto is_above = [](const CurvePoint& a, const CurvePoint& b, const CurvePoint& c) {
    return (b.misses - a.misses) * (c.blocks - a.blocks) >=
           (c.misses - a.misses) * (b.blocks - a.blocks);
  };
  for (const CurvePoint& point : curve) {
    while (hull.size() > 1 && is_above(hull[hull.size() - 2], hull.back(), point)) {
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

std::optional<Split> split_at(std::span<const CurvePoint> hull, double blocks, double margin) {
  const auto above = std::ranges::upper_bound(hull, blocks, {}, &CurvePoint::blocks);
  if (above == hull.begin() || above == hull.end()) return std::nullopt;
  const CurvePoint low = *(above - 1);
  const CurvePoint high = *above;
  if (low.blocks == blocks) return std::nullopt;
  Split split{.alpha = low.blocks, .beta = high.blocks};
  split.rho = (high.blocks - blocks) / (high.blocks - low.blocks);
  split.first_blocks = split.rho * low.blocks;
  split.second_blocks = blocks - split.first_blocks;
  split.first_keys = 1 - (1 - split.rho) * (1 - margin);
  split.misses = split.rho * low.misses + (1 - split.rho) * high.misses;
  return split;
}

double misses_at(std::span<const CurvePoint> curve, double blocks) {
  const auto above = std::ranges::upper_bound(curve, blocks, {}, &CurvePoint::blocks);
  return above == curve.begin() ? 1 : (above - 1)->misses;
}

double misses_of(std::span<const CurvePoint> curve, const Split& split) {
  const auto part = [&](double keys, double blocks) {
    return keys > 0 ? keys * misses_at(curve, blocks / keys) : 0;
  };
  return part(split.first_keys, split.first_blocks) +
         part(1 - split.first_keys, split.second_blocks);
}

}  // namespace mcsim
