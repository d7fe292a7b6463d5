#include "core/locality/sampling/sampled_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace mcsim {
namespace {

using Step = SampledCounts::Step;

constexpr auto kGroups = static_cast<double>(SampleGroups::kGroups);
// Two-sided 99 % of Student's t of kGroups - 1 degrees of freedom: sums of uneven
// blocks have longer tails than the normal's, and 95 % is what they reach by it.
constexpr double kStudent = 2.75;
// The normal's 95 %.
constexpr double kNormal = 1.96;
// Sampled blocks that a cache must have room for, or its hits rest on too few.
constexpr double kEnoughBlocks = 10;
// Sampled blocks of which the groups tell how uneven they are.
constexpr double kFewestBlocks = 32;
// What the references looked at may exceed the groups by before they are believed:
// both have errors, and the groups' is also in the covariance.
constexpr double kTolerance = 3;
// Likewise N - S, in standard deviations.
constexpr double kLikely = 3;
// How much larger the next capacity may be for which the band is told anew.
constexpr double kStride = 1 + 1.0 / 64;

// A value of every group, less their mean.
using Deviations = std::array<double, SampleGroups::kGroups>;

template <class Value>
Deviations deviations(Value value) {
  Deviations result;
  double mean = 0;
  for (std::size_t g = 0; g < result.size(); ++g) {
    result[g] = value(g);
    mean += result[g] / kGroups;
  }
  for (double& deviation : result) deviation -= mean;
  return result;
}

// What the groups say of the covariance of two sums over all blocks.
double covariance(const Deviations& a, const Deviations& b, double rate) {
  double sum = 0;
  for (std::size_t g = 0; g < a.size(); ++g) sum += a[g] * b[g];
  return (1 - rate) * sum * kGroups / (kGroups - 1);
}

// How far the sample may be off in the number of references, as a variance.
struct Unevenness {
  double seen = 0;    // by the blocks sampled
  double fitted = 0;  // what the regression divides by
  double likely = 0;  // at most
};

// 1 - b and the variance of the estimate.
struct Fit {
  double share = 0;
  double variance = 0;
};

// The regression at the upper edge of each coarse bin.
class GroupFits {
 public:
  GroupFits(const SampledCounts& counts, const SampleGroups& groups,
            const ReferenceSample& looked_at, bool trust_the_seen)
      : missing_(counts.accesses - counts.references), references_(deviations([&](std::size_t g) {
          return counts.unit * static_cast<double>(groups.groups()[g].references);
        })) {
    of_references_ = unevenness(counts, looked_at);
    if (trust_the_seen) of_references_.fitted = of_references_.seen;
    std::array<std::uint64_t, SampleGroups::kGroups> hits{};
    for (std::size_t bin = 0; bin < SampleGroups::kBinCount; ++bin) {
      const Deviations missed = deviations([&](std::size_t g) {
        const SampleGroups::Group& group = groups.groups()[g];
        hits[g] += group.hits[bin];
        return counts.unit * static_cast<double>(group.references - hits[g]);
      });
      fits_.push_back(fit(missed, counts.rate));
    }
  }

  // Between two edges by straight lines.
  Fit at(double capacity) const {
    constexpr LogLinearBins bins = SampleGroups::kBins;
    if (capacity >= static_cast<double>(kMostCapacity)) return fits_.back();
    const std::size_t bin = bins.index(static_cast<std::uint64_t>(capacity));
    if (bin == 0) return fits_[0];
    const auto low = static_cast<double>(bins.lowest(bin));
    const auto high = static_cast<double>(bins.lowest(bin + 1));
    const double t = std::clamp((capacity + 1 - low) / (high - low), 0.0, 1.0);
    const Fit& a = fits_[bin - 1];
    const Fit& b = fits_[bin];
    return {a.share + t * (b.share - a.share), a.variance + t * (b.variance - a.variance)};
  }

  const Unevenness& of_references() const { return of_references_; }

 private:
  Unevenness unevenness(const SampledCounts& counts, const ReferenceSample& looked_at) const {
    Unevenness result;
    result.seen = covariance(references_, references_, counts.rate);
    const double all = looked_at.sampling_variance(counts.accesses);
    result.fitted =
        std::max({result.seen, all / kTolerance, missing_ * missing_ / (kLikely * kLikely)});
    result.likely = std::max(result.fitted, all);
    return result;
  }

  Fit fit(const Deviations& missed, double rate) const {
    Fit result;
    result.variance = covariance(missed, missed, rate);
    const auto& [seen, fitted, likely] = of_references_;
    if (fitted == 0) return result;
    const double together = covariance(missed, references_, rate);
    result.share = std::clamp(together / fitted, 0.0, 1.0);
    // Of the slope, which is itself from few groups.
    const double of_share = result.variance * seen / (fitted * fitted) / (kGroups - 1);
    result.variance += result.share * (result.share * likely - 2 * together);
    result.variance = std::max(result.variance, 0.0) + of_share * missing_ * missing_;
    return result;
  }

  double missing_;  // N - S
  Deviations references_;
  Unevenness of_references_;
  std::vector<Fit> fits_;  // by coarse bin
};

// Values from each of some increasing capacities on; 0 before.
double value_at(const std::vector<double>& capacities, const std::vector<double>& values,
                double capacity) {
  const auto beyond = std::upper_bound(capacities.begin(), capacities.end(), capacity);
  if (beyond == capacities.begin()) return 0;
  return values[static_cast<std::size_t>(beyond - capacities.begin() - 1)];
}

// Where the curve or its band changes.
std::vector<double> knots_of(const SampledCounts& counts, double resolved_from, bool has_band) {
  std::vector<double> knots;
  for (const Step& step : counts.steps) {
    knots.push_back(step.capacity);
    if (!has_band) continue;
    knots.push_back(step.earliest);
    knots.push_back(step.latest);
  }
  if (has_band && counts.rate < 1) {
    knots.push_back(1);
    // Up to where every block fits, however few of them the sample has.
    for (double c = resolved_from; c < 2 * counts.distinct; c *= kStride) knots.push_back(c);
  }
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

class Corrector {
 public:
  // Both must outlive this.
  Corrector(const SampledCounts& counts, const std::vector<double>& knots)
      : counts_(counts), knots_(knots) {}

  // Hits at every knot if each step is at its place `at`. What larger caches hit is
  // known better, so nothing smaller exceeds it.
  std::vector<double> hits(double Step::* at, const GroupFits& fits, Correction correction) const {
    std::vector<double> places;
    std::vector<double> sampled;
    for (const Step& step : counts_.steps) {
      places.push_back(step.*at);
      sampled.push_back(step.hits);
    }
    std::vector<double> result(knots_.size());
    double most = counts_.accesses;
    for (std::size_t k = knots_.size(); k-- > 0;) {
      const double x = value_at(places, sampled, knots_[k]);
      double share = fits.at(knots_[k]).share;
      if (correction == Correction::kAdjusted) share = 0;
      if (correction == Correction::kNone) share = 1 - x / std::max(counts_.references, 1.0);
      const double missing = counts_.accesses - counts_.references;
      // SHARDS_adj corrects what it found, and no more.
      const bool found = x > 0 || correction != Correction::kAdjusted;
      most = std::clamp(found ? x + (1 - share) * missing : 0, 0.0, most);
      result[k] = most;
    }
    return result;
  }

  void add_band(const GroupFits& fits, CurveEstimate& curve) const {
    const std::vector<double> latest = hits(&Step::latest, fits, Correction::kAuto);
    const std::vector<double> earliest = hits(&Step::earliest, fits, Correction::kAuto);
    curve.low.resize(knots_.size());
    curve.high.resize(knots_.size());
    double low = counts_.accesses;
    double high = counts_.accesses;
    double end = std::numeric_limits<double>::max();
    for (std::size_t k = knots_.size(); k-- > 0;) {
      const double c = knots_[k];
      if (c >= curve.resolved_from) {
        // Up to the next knot.
        const double last = std::nextafter(end, 0);
        low = std::min(low, value_at(knots_, latest, c - shift(c)) - half_width(fits, c));
        high =
            std::min(high, value_at(knots_, earliest, last + shift(last)) + half_width(fits, last));
      } else {
        low = 0;
      }
      curve.low[k] = std::clamp(low, 0.0, curve.hits[k]);
      curve.high[k] = std::clamp(high, curve.hits[k], counts_.accesses);
      end = c;
    }
  }

 private:
  // Sideways: of a capacity that is known by its sampled blocks.
  double shift(double capacity) const {
    return kNormal * std::sqrt(capacity * (1 - counts_.rate) / counts_.rate);
  }
  // The score interval of a count: with none met there may have been some.
  double half_width(const GroupFits& fits, double capacity) const {
    const double half_unit = kStudent * kStudent * (1 - counts_.rate) / counts_.rate / 2;
    const double variance = fits.at(capacity).variance;
    return half_unit + std::sqrt(kStudent * kStudent * variance + half_unit * half_unit);
  }

  const SampledCounts& counts_;
  const std::vector<double>& knots_;
};

std::string note_on(const Unevenness& of_references) {
  const double leant = 1 - of_references.seen / of_references.fitted;
  if (leant == 0) {
    return "auto: corrected by regression, since the sample has its share of the blocks with many "
           "references";
  }
  return fmt::format(
      "auto: corrected {:.0f} % as SHARDS_adj, since the sample may lack blocks with many "
      "references, and else by regression",
      100 * leant);
}

}  // namespace

CurveEstimate sampled_curve(const SampledCounts& counts, const SampleGroups& groups,
                            const ReferenceSample& looked_at, Correction correction) {
  const bool samples = counts.rate < 1;
  const bool has_band = !samples || counts.distinct * counts.rate >= kFewestBlocks;
  CurveEstimate curve;
  curve.accesses = counts.accesses;
  if (samples) curve.resolved_from = (has_band ? kEnoughBlocks : kFewestBlocks) / counts.rate;
  curve.capacity = knots_of(counts, curve.resolved_from, has_band);
  const Corrector corrector(counts, curve.capacity);
  const GroupFits fits(counts, groups, looked_at, false);
  const bool trusts = correction == Correction::kRegression;
  const GroupFits chosen = trusts ? GroupFits(counts, groups, looked_at, true) : fits;
  curve.hits = corrector.hits(&Step::capacity, chosen, correction);
  if (has_band) corrector.add_band(fits, curve);
  if (correction == Correction::kAuto && samples && counts.references > 0) {
    curve.note = note_on(fits.of_references());
  }
  return curve;
}

}  // namespace mcsim
