#include "core/locality/sampling/reference_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "core/base/random.hpp"
#include "core/base/wraps.hpp"

namespace mcsim {
namespace {

// 2^16 times a value with an exponential distribution of mean 1, from the logarithm of a uniform
// number: its leading zeros, and a parabola for the fraction.
std::uint64_t exponential(std::uint64_t uniform) {
  constexpr std::uint64_t one = 1 << 16;
  constexpr std::uint64_t bend = 22'446;  // of log2 above its chord, times 4
  constexpr std::uint64_t ln2 = 45'426;
  const std::uint64_t r = uniform | 1;
  const int zeros = std::countl_zero(r);
  const std::uint64_t f = ((r << zeros) >> 47) & (one - 1);
  const std::uint64_t log2 = f + ((((bend * f) >> 16) * (one - f)) >> 16);
  return (((static_cast<std::uint64_t>(zeros) + 1) * one - log2) * ln2) >> 16;
}

std::uint32_t narrowed(std::uint64_t weight) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(weight, most));
}

}  // namespace

ReferenceSample::ReferenceSample(std::uint64_t seed) : seed_(seed), random_(mix64(seed)) {
  kept_.reserve(kRoom);
}

ReferenceSample::ReferenceSample(const std::vector<std::uint32_t>& blocks, std::uint64_t weight)
    : seed_(0), random_(0) {
  for (const std::uint32_t block : blocks) kept_.push_back({block, narrowed(weight)});
}

void ReferenceSample::clear() {
  random_ = mix64(seed_);
  next_ = 0;
  doublings_ = 0;
  kept_.clear();
}

void ReferenceSample::keep(std::uint64_t hash, std::uint64_t weight) {
  while (kept_.size() >= kRoom) halve();
  kept_.push_back({static_cast<std::uint32_t>(hash >> 32), narrowed(weight)});
  next_ += distance();
}

void ReferenceSample::halve() {
  std::erase_if(kept_, [this](const Kept&) { return draw() >> 63 == 0; });
  ++doublings_;
}

std::uint64_t ReferenceSample::distance() {
  const std::uint64_t mean = std::uint64_t{1} << doublings_;
  return 1 + ((exponential(draw()) * (mean - 1)) >> 16);
}

MCSIM_WRAPS std::uint64_t ReferenceSample::draw() {
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  return random_;
}

// The variance of the estimate for one reference that is sampled with the probability 1 / weight.
double ReferenceSample::Kept::variance() const {
  return weight == 0 ? 0 : std::max(0.0, std::ldexp(weight, -kFractionBits) - 1);
}

// Weights and blocks are stored without their last bits, so a block near the threshold may seem not
// to be sampled.
bool ReferenceSample::Kept::sampled() const {
  return weight == 0 || (std::uint64_t{block} * weight) >> (32 + kFractionBits) == 0;
}

// Two references to one block are sampled together or not at all, unless the rate fell in between:
// their covariance is the variance of the earlier one.
ReferenceSample::SamplingError ReferenceSample::sampling_error(double accesses,
                                                               std::size_t known_from) const {
  SamplingError result;
  const auto looks = static_cast<double>(kept_.size());
  if (looks < 2) return result;
  std::vector<Kept> kept = kept_;
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Kept& a, const Kept& b) { return a.block < b.block; });
  double alone = 0;
  double pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < kept.size(); begin = end) {
    while (end < kept.size() && kept[end].block == kept[begin].block) ++end;
    const std::span of_block(kept.data() + begin, end - begin);
    if (of_block.size() >= known_from && std::ranges::none_of(of_block, &Kept::sampled)) {
      const double references = accesses / looks * static_cast<double>(of_block.size());
      result.absent.push_back(references);
      result.absent_variance += accesses / looks * references;
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      alone += kept[i].variance();
      pairs += 2 * static_cast<double>(end - 1 - i) * kept[i].variance();
    }
  }
  result.variance = accesses / looks * (alone + (accesses - 1) / (looks - 1) * pairs);
  return result;
}

void TimedReferenceSample::merge(const KeptReferences& next) {
  if (next.limit < kept_.limit) lower_limit(next.limit);
  for (std::size_t i = 0; i < next.priorities.size(); ++i) {
    if (next.priorities[i] <= kept_.limit) keep(next.priorities[i], next.blocks[i]);
  }
}

void TimedReferenceSample::keep(std::uint64_t priority, std::uint32_t block) {
  kept_.priorities.push_back(priority);
  kept_.blocks.push_back(block);
  while (kept_.priorities.size() > ReferenceSample::kRoom && kept_.limit > 0) {
    lower_limit(kept_.limit / 2);
  }
}

void TimedReferenceSample::lower_limit(std::uint64_t limit) {
  kept_.limit = limit;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kept_.priorities.size(); ++i) {
    if (kept_.priorities[i] > limit) continue;
    kept_.priorities[count] = kept_.priorities[i];
    kept_.blocks[count++] = kept_.blocks[i];
  }
  kept_.priorities.resize(count);
  kept_.blocks.resize(count);
}

}  // namespace mcsim
