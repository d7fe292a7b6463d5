#pragma once

#include <optional>
#include <span>
#include <vector>

// The division of a cache whose miss curve then is the lower convex hull of the original curve
// (Beckmann, Sanchez: Talus: a simple way to remove cliffs in cache performance, HPCA 2015).
namespace mcsim {

// A point of a miss curve.
struct CurvePoint {
  double blocks = 0;
  double misses = 0;  // share of the references
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// Return the points on the lower convex hull; `curve` has increasing blocks.
std::vector<CurvePoint> lower_hull(std::span<const CurvePoint> curve);

// Divides a cache of s blocks with alpha <= s < beta, where alpha and beta are vertices of the
// hull. The first part has a share rho of the keys and rho alpha blocks; the second part has the
// rest of both. Each part then has the miss ratio of the cache of which it is a scaled copy.
struct Split {
  double alpha = 0;
  double beta = 0;
  double rho = 0;
  double first_blocks = 0;
  double second_blocks = 0;
  // The share of the keys of the first part: rho and a margin. The second part is at the edge of a
  // cliff, and hashing may give it more keys than its share.
  double first_keys = 0;
  double misses = 0;  // on the hull, without the margin

  friend bool operator==(const Split&, const Split&) = default;
};

// Return the split at `blocks`; none at a vertex or outside of the hull.
std::optional<Split> split_at(std::span<const CurvePoint> hull, double blocks, double margin);

// Return the misses of a cache of `blocks`: those of the next smaller point.
double misses_at(std::span<const CurvePoint> curve, double blocks);

// Return the misses of the two parts by the curve, with the margin.
double misses_of(std::span<const CurvePoint> curve, const Split& split);

}  // namespace mcsim
