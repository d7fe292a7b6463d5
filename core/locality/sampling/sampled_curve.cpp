#include "core/locality/sampling/sampled_curve.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace mcsim {
namespace {

// Student's t, 97.5 %, of kGroups - 1 degrees of freedom.
constexpr double kStudent = 2.04;
// The normal's.
constexpr double kNormal = 1.96;

struct Fit {
  double share = 1;     // b
  double variance = 0;  // of the hits
};

// Mean of a value over the groups.
template <class Value>
double mean(Value value) {
  double sum = 0;
  for (std::size_t g = 0; g < SampleGroups::kGroups; ++g) sum += value(g);
  return sum / static_cast<double>(SampleGroups::kGroups);
}

// The regression at the upper edge of each coarse bin.
class GroupFits {
 public:
  GroupFits(const SampledCounts& counts, const SampleGroups& groups, Correction correction)
      : counts_(counts), correction_(correction), references_(SampleGroups::kGroups) {
    for (std::size_t g = 0; g < references_.size(); ++g) {
      references_[g] = counts.unit * static_cast<double>(groups.groups()[g].references);
    }
    const double centre = mean([&](std::size_t g) { return references_[g]; });
    for (double& r : references_) r -= centre;
    squares_ = mean([&](std::size_t g) { return references_[g] * references_[g]; });
    skew_ = skew_of(counts, squares_);
    std::vector<double> hits(references_.size(), 0.0);
    for (std::size_t bin = 0; bin < SampleGroups::kBinCount; ++bin) {
      for (std::size_t g = 0; g < hits.size(); ++g) {
        hits[g] += counts.unit * static_cast<double>(groups.groups()[g].hits[bin]);
      }
      fits_.push_back(fit(hits));
    }
  }

  // Between two edges by straight lines.
  Fit at(double capacity) const {
    constexpr LogLinearBins bins = SampleGroups::kBins;
    const std::size_t bin =
        bins.index(std::min(static_cast<std::uint64_t>(capacity), kMostCapacity));
    if (bin == 0) return fits_[0];
    const auto low = static_cast<double>(bins.lowest(bin));
    const auto high = static_cast<double>(bins.lowest(bin + 1));
    const double t = std::clamp((capacity + 1 - low) / (high - low), 0.0, 1.0);
    const Fit& a = fits_[bin - 1];
    const Fit& b = fits_[bin];
    return {a.share + t * (b.share - a.share), a.variance + t * (b.variance - a.variance)};
  }

  double skew() const { return skew_; }
  // How far the regression is moved towards the adjustment.
  double lean() const {
    return correction_ == Correction::kAuto && skew_ > 1 ? 1 - 1 / (skew_ * skew_) : 0;
  }

 private:
  // Mean square of the blocks' references over the square of their mean.
  static double skew_of(const SampledCounts& counts, double mean_square_of_groups) {
    if (counts.references == 0) return 1;
    const double squares =
        mean_square_of_groups * static_cast<double>(SampleGroups::kGroups) * counts.rate;
    // Never below 1, though its estimate may be.
    return std::max(1.0, squares * counts.distinct / (counts.references * counts.references));
  }

  Fit fit(const std::vector<double>& hits) const {
    const double centre = mean([&](std::size_t g) { return hits[g]; });
    Fit result;
    if (correction_ == Correction::kNone) {
      const double total = centre * static_cast<double>(hits.size());
      result.share = counts_.references > 0 ? total / counts_.references : 0;
    } else if (correction_ != Correction::kAdjusted && squares_ > 0) {
      const double product = mean([&](std::size_t g) { return hits[g] * references_[g]; });
      const double regression = std::clamp(product / squares_, 0.0, 1.0);
      result.share = regression + (1 - regression) * lean();
    }
    const double squared = mean([&](std::size_t g) {
      const double residual = hits[g] - centre - result.share * references_[g];
      return residual * residual;
    });
    const auto n = static_cast<double>(SampleGroups::kGroups);
    result.variance = (1 - counts_.rate) * squared * n * n / (n - 1);
    return result;
  }

  const SampledCounts& counts_;
  Correction correction_;
  std::vector<double> references_;  // by group, less their mean
  double squares_ = 0;              // their mean square
  double skew_ = 1;
  std::vector<Fit> fits_;  // by coarse bin
};

// Two curves apart by what the number of sampled blocks may be off.
double sideways(const CurveEstimate& curve, double capacity, double rate, double sign) {
  const double shift = kNormal * std::sqrt(capacity * (1 - rate) / rate);
  return curve.hits_at(capacity + sign * shift) - curve.hits_at(capacity);
}

void add_band(CurveEstimate& curve, const GroupFits& fits, double rate) {
  for (std::size_t i = 0; i < curve.capacity.size(); ++i) {
    const double at = curve.capacity[i];
    const double vertical = kStudent * std::sqrt(fits.at(at).variance);
    const double down = vertical + std::abs(sideways(curve, at, rate, -1));
    const double up = vertical + sideways(curve, at, rate, 1);
    curve.low.push_back(std::clamp(curve.hits[i] - down, 0.0, curve.accesses));
    curve.high.push_back(std::clamp(curve.hits[i] + up, 0.0, curve.accesses));
  }
}

std::string note_on(const GroupFits& fits) {
  if (fits.lean() == 0) {
    return fmt::format("auto: corrected by regression, since blocks are much alike (skew {:.1f})",
                       fits.skew());
  }
  return fmt::format(
      "auto: corrected {:.0f} % as SHARDS_adj, since few blocks have many of the references (skew "
      "{:.1f}), and else by regression",
      100 * fits.lean(), fits.skew());
}

}  // namespace

CurveEstimate sampled_curve(SampledCounts counts, const SampleGroups& groups,
                            Correction correction) {
  const GroupFits fits(counts, groups, correction);
  const double missing = counts.accesses - counts.references;
  CurveEstimate curve;
  curve.accesses = counts.accesses;
  curve.resolved_from = counts.rate < 1 ? 10 / counts.rate : 0;
  double highest = 0;
  for (std::size_t i = 0; i < counts.capacity.size(); ++i) {
    const double share = correction == Correction::kNone ? counts.hits[i] / counts.references
                                                         : fits.at(counts.capacity[i]).share;
    highest = std::clamp(counts.hits[i] + share * missing, highest, counts.accesses);
    curve.hits.push_back(highest);
  }
  curve.capacity = std::move(counts.capacity);
  add_band(curve, fits, counts.rate);
  if (correction == Correction::kAuto && counts.rate < 1) curve.note = note_on(fits);
  return curve;
}

}  // namespace mcsim
