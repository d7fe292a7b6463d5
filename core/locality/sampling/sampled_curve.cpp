#include "core/locality/sampling/sampled_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace mcsim {
namespace {

using Step = SampledCounts::Step;

constexpr auto kGroups = static_cast<double>(SampleGroups::kGroups);
// The two-sided 99 % quantile of Student's t with kGroups - 1 degrees of freedom. Sums over uneven
// blocks have longer tails than the normal distribution; with this quantile the band reaches 95 %.
constexpr double kStudent = 2.75;
// The normal distribution's 95 % quantile.
constexpr double kNormal = 1.96;
// The minimum number of sampled blocks that a resolved capacity holds.
constexpr double kEnoughBlocks = 10;
// The minimum number of sampled blocks for an estimate of their unevenness by the groups.
constexpr double kFewestBlocks = 32;
// The factor by which the variance of the reference sample may exceed that of the groups before it
// is used: both have errors, and the groups' error is also in the covariance.
constexpr double kTolerance = 3;
// The same limit for N - S, in standard deviations.
constexpr double kLikely = 3;
// Kept references to a block from which on its number of references is known within a quarter.
constexpr std::size_t kKnownFrom = 16;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
// The ratio of neighbouring capacities at which the band is computed.
constexpr double kStride = 1 + 1.0 / 64;

// A value for each group, minus their mean.
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

// The covariance of two sums over all blocks, estimated from the groups.
double covariance(const Deviations& a, const Deviations& b) {
  double sum = 0;
  for (std::size_t g = 0; g < a.size(); ++g) sum += a[g] * b[g];
  return sum * kGroups / (kGroups - 1);
}

// The variance of the sampled number of references.
struct Unevenness {
  double seen = 0;    // estimated from the sampled blocks
  double fitted = 0;  // the divisor of the regression
  double likely = 0;  // the likely maximum
};

// 1 - b and the variance of the estimate.
struct Fit {
  double share = 0;
  double variance = 0;
};

// The regression at the upper edge of each coarse bin, indexed by the sampled hits up to that edge:
// within a bin it is interpolated by hits.
class GroupFits {
 public:
  GroupFits(const SampledCounts& counts, const SampleGroups& groups,
            const ReferenceSample& reference_sample, bool groups_only)
      : sampling_error_(
            reference_sample.sampling_error(counts.accesses, groups_only ? kNever : kKnownFrom)),
        set_aside_(std::reduce(sampling_error_.absent.begin(), sampling_error_.absent.end())),
        missing_(counts.accesses - counts.references - set_aside_),
        references_(deviations([&](std::size_t g) {
          return counts.unit * static_cast<double>(groups.groups()[g].references);
        })),
        of_references_(unevenness(groups_only)) {
    std::array<std::uint64_t, SampleGroups::kGroups> hits{};
    auto step = counts.steps.begin();
    double sampled = 0;
    for (std::size_t bin = 0; bin < SampleGroups::kBinCount; ++bin) {
      const Deviations missed = deviations([&](std::size_t g) {
        const SampleGroups::Group& group = groups.groups()[g];
        hits[g] += group.hits[bin];
        return counts.unit * static_cast<double>(group.references - hits[g]);
      });
      fits_.push_back(fit(missed));
      for (; step != counts.steps.end() && bin_of(step->capacity) <= bin; ++step) {
        sampled = step->hits;
      }
      sampled_.push_back(sampled);
    }
  }

  // The corrected hits for a number of sampled hits, and their variance.
  double hits(double sampled) const {
    return sampled + set_aside_ + (1 - at(sampled).share) * missing_;
  }
  double variance(double sampled) const { return at(sampled).variance; }
  // The maximum number of misses among the references that were set aside as hits: between two
  // misses of a block lie at least `capacity` other accesses.
  double max_set_aside_misses(double accesses, double capacity) const {
    double most = 0;
    for (const double references : sampling_error_.absent) {
      most += std::min(references, (accesses + capacity) / (capacity + 1));
    }
    return most;
  }

  const Unevenness& of_references() const { return of_references_; }
  double set_aside() const { return set_aside_; }

 private:
  static std::size_t bin_of(double capacity) {
    const double most = std::min(capacity, static_cast<double>(kMostCapacity));
    return SampleGroups::kBins.index(static_cast<std::uint64_t>(most));
  }

  Unevenness unevenness(bool groups_only) const {
    Unevenness result;
    result.seen = result.fitted = result.likely = covariance(references_, references_);
    if (groups_only) return result;
    result.fitted = std::max({result.seen, sampling_error_.variance / kTolerance,
                              missing_ * missing_ / (kLikely * kLikely)});
    result.likely = std::max(result.fitted, sampling_error_.variance);
    result.fitted += sampling_error_.absent_variance;
    result.likely += sampling_error_.absent_variance;
    return result;
  }

  Fit fit(const Deviations& missed) const {
    Fit result;
    result.variance = covariance(missed, missed);
    const auto& [seen, fitted, likely] = of_references_;
    if (fitted == 0) return result;
    const double together = covariance(missed, references_);
    result.share = std::clamp(together / fitted, 0.0, 1.0);
    // The variance of the slope, which is itself estimated from few groups.
    const double of_share = result.variance * seen / (fitted * fitted) / (kGroups - 1);
    result.variance += result.share * (result.share * likely - 2 * together);
    result.variance = std::max(result.variance, 0.0) + of_share * missing_ * missing_;
    return result;
  }

  // Interpolates linearly between two edges.
  Fit at(double sampled) const {
    const auto edge = std::ranges::lower_bound(sampled_, sampled);
    if (edge == sampled_.begin() || edge == sampled_.end()) {
      return edge == sampled_.begin() ? fits_.front() : fits_.back();
    }
    const double t = (sampled - edge[-1]) / (edge[0] - edge[-1]);
    const auto bin = static_cast<std::size_t>(edge - sampled_.begin());
    const Fit& a = fits_[bin - 1];
    const Fit& b = fits_[bin];
    return {a.share + t * (b.share - a.share), a.variance + t * (b.variance - a.variance)};
  }

  ReferenceSample::SamplingError sampling_error_;
  double set_aside_;  // references to blocks that the sample is known to lack
  double missing_;    // N - S, without these
  Deviations references_;
  Unevenness of_references_;
  std::vector<Fit> fits_;        // by coarse bin
  std::vector<double> sampled_;  // hits, up to the end of the bin
};

// The capacities at which the curve or its band changes.
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
    // Up to a capacity for all blocks, even if the sample has only a few.
    for (double c = resolved_from; c < 2 * counts.distinct; c *= kStride) knots.push_back(c);
  }
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

class Corrector {
 public:
  // Both must outlive the corrector.
  Corrector(const SampledCounts& counts, const std::vector<double>& knots)
      : counts_(counts), knots_(knots) {}

  // Hits at every knot, with each step at its member `at`. Estimates for larger capacities are more
  // accurate, so smaller capacities are limited to them.
  std::vector<double> hits(double Step::* at, const GroupFits& fits, Correction correction) const {
    const Sampled sampled = sampled_at(at);
    std::vector<double> result(knots_.size());
    double most = counts_.accesses;
    for (std::size_t k = knots_.size(); k-- > 0;) {
      const double x = value_at(sampled.places, sampled.hits, knots_[k]);
      most = std::clamp(corrected(x, fits, correction), 0.0, most);
      result[k] = most;
    }
    return result;
  }

  void add_band(const GroupFits& fits, CurveEstimate& curve) const {
    const std::vector<double> latest = hits(&Step::latest, fits, Correction::kAuto);
    const std::vector<double> earliest = hits(&Step::earliest, fits, Correction::kAuto);
    const Sampled sampled = sampled_at(&Step::capacity);
    const auto half_width = [&](double capacity) {
      return half_width_of(fits.variance(value_at(sampled.places, sampled.hits, capacity)));
    };
    curve.low.resize(knots_.size());
    curve.high.resize(knots_.size());
    double low = counts_.accesses;
    double high = counts_.accesses;
    double end = std::numeric_limits<double>::max();
    for (std::size_t k = knots_.size(); k-- > 0;) {
      const double c = knots_[k];
      if (c >= curve.resolved_from) {
        // The largest capacity below the next knot.
        const double last = std::nextafter(end, 0);
        low = std::min(low, value_at(knots_, latest, c - shift(c)) - half_width(c) -
                                fits.max_set_aside_misses(counts_.accesses, c));
        high = std::min(high, value_at(knots_, earliest, last + shift(last)) + half_width(last));
      } else {
        low = 0;
      }
      curve.low[k] = std::clamp(low, 0.0, curve.hits[k]);
      curve.high[k] = std::clamp(high, curve.hits[k], counts_.accesses);
      end = c;
    }
  }

 private:
  // Sampled hits, each entry from a capacity on.
  struct Sampled {
    std::vector<double> places;
    std::vector<double> hits;
  };
  Sampled sampled_at(double Step::* at) const {
    Sampled sampled;
    for (const Step& step : counts_.steps) {
      sampled.places.push_back(step.*at);
      sampled.hits.push_back(step.hits);
    }
    return sampled;
  }

  // The corrected hits where the sample has x hits.
  double corrected(double x, const GroupFits& fits, Correction correction) const {
    const double missing = counts_.accesses - counts_.references;
    switch (correction) {
      case Correction::kNone:
        return x + x / std::max(counts_.references, 1.0) * missing;
      case Correction::kAdjusted:
        // Only corrects capacities with sampled hits.
        return x > 0 ? x + missing : 0;
      case Correction::kAuto:
      case Correction::kRegression:
        break;
    }
    return fits.hits(x);
  }

  // The half-width of a capacity's error, since a capacity is known by its sampled blocks.
  double shift(double capacity) const {
    return kNormal * std::sqrt(capacity * (1 - counts_.rate) / counts_.rate);
  }
  // The half-width of the score interval of a count, which is above 0 even if nothing was counted.
  double half_width_of(double variance) const {
    const double half_unit = kStudent * kStudent * (1 - counts_.rate) / counts_.rate / 2;
    return half_unit + std::sqrt(kStudent * kStudent * variance + half_unit * half_unit);
  }

  const SampledCounts& counts_;
  const std::vector<double>& knots_;
};

std::string note_on(const GroupFits& fits, double accesses) {
  const auto& [seen, fitted, likely] = fits.of_references();
  const double leant = fitted > 0 ? 1 - seen / fitted : 0;
  std::string note =
      leant == 0
          ? "auto: corrected by regression, since the sample has its share of the blocks with many "
            "references"
          : fmt::format(
                "auto: corrected {:.0f} % as SHARDS_adj, since the sample may lack blocks with "
                "many references, and else by regression",
                100 * leant);
  if (fits.set_aside() > 0) {
    note += fmt::format("; hits are {:.0f} % of all, of blocks that it is known to lack",
                        100 * fits.set_aside() / accesses);
  }
  return note;
}

}  // namespace

void SampleGroups::merge(const SampleGroups& piece) {
  for (std::size_t g = 0; g < kGroups; ++g) {
    Group& group = groups_[g];
    const Group& more = piece.groups_[g];
    for (std::size_t bin = 0; bin < kBinCount; ++bin) group.hits[bin] += more.hits[bin];
    group.references += more.references;
  }
}

std::vector<std::uint64_t> SampleGroups::counts() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(kCounts);
  for (const Group& group : groups_) {
    counts.insert(counts.end(), group.hits.begin(), group.hits.end());
    counts.push_back(group.references);
  }
  return counts;
}

SampleGroups SampleGroups::of_counts(std::span<const std::uint64_t> counts) {
  SampleGroups result;
  for (Group& group : result.groups_) {
    std::copy_n(counts.begin(), kBinCount, group.hits.begin());
    group.references = counts[kBinCount];
    counts = counts.subspan(kBinCount + 1);
  }
  return result;
}

CurveEstimate sampled_curve(const SampledCounts& counts, const SampleGroups& groups,
                            const ReferenceSample& reference_sample, Correction correction) {
  const bool samples = counts.rate < 1;
  const bool has_band = !samples || counts.distinct * counts.rate >= kFewestBlocks;
  CurveEstimate curve;
  curve.accesses = counts.accesses;
  if (samples) curve.resolved_from = (has_band ? kEnoughBlocks : kFewestBlocks) / counts.rate;
  curve.capacity = knots_of(counts, curve.resolved_from, has_band);
  const Corrector corrector(counts, curve.capacity);
  const GroupFits fits(counts, groups, reference_sample, false);
  const bool trusts = correction == Correction::kRegression;
  const GroupFits chosen = trusts ? GroupFits(counts, groups, reference_sample, true) : fits;
  curve.hits = corrector.hits(&Step::capacity, chosen, correction);
  if (has_band) corrector.add_band(fits, curve);
  if (correction == Correction::kAuto && samples && counts.references > 0) {
    curve.note = note_on(fits, counts.accesses);
  }
  return curve;
}

}  // namespace mcsim
