#pragma once

#include <optional>
#include <span>
#include <vector>

// How a cache is divided so that its miss curve becomes its own lower convex hull
// (Beckmann, Sanchez: Talus: a simple way to remove cliffs in cache performance,
// HPCA 2015).
namespace mcsim {

// A point of a miss curve.
struct CurvePoint {
  double blocks = 0;
  double misses = 0;  // a share of the references
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// The points on the lower convex hull of those given, which have increasing blocks.
std::vector<CurvePoint> lower_hull(std::span<const CurvePoint> curve);

// A cache of s blocks as two of alpha <= s < beta, vertices of the hull: the first
// has a share rho of the keys and rho alpha blocks, the other has the rest of both. Each
// then hits like the cache of which it is a scaled copy.
struct Split {
  double alpha = 0;
  double beta = 0;
  double rho = 0;
  double first_blocks = 0;
  double second_blocks = 0;
  // The share of the keys that goes to the first: rho and a margin. The second stands at
  // the edge of a cliff, and hashing may give it more keys than it should have.
  double first_keys = 0;
  double misses = 0;  // the hull's, without the margin

  friend bool operator==(const Split&, const Split&) = default;
};

// None where the hull has a vertex or ends.
std::optional<Split> split_at(std::span<const CurvePoint> hull, double blocks, double margin);

// The misses of a cache of so many blocks: those of the next smaller point.
double misses_at(std::span<const CurvePoint> curve, double blocks);

// What the curve says of the two parts, their keys as they are with the margin.
double misses_of(std::span<const CurvePoint> curve, const Split& split);

}  // namespace mcsim
