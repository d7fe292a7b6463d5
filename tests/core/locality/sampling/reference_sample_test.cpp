// Trusts: sums over all references of a stream, and over all pairs of one block.
#include "core/locality/sampling/reference_sample.hpp"

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "core/base/random.hpp"
#include "tests/support/streams.hpp"

namespace mcsim {
namespace {

using streams::Keys;

constexpr std::uint64_t kOne = std::uint64_t{1} << ReferenceSample::kFractionBits;
constexpr std::size_t kNever = ~std::size_t{0};

double variance_of(const Keys& keys, std::uint64_t weight, std::uint64_t seed) {
  ReferenceSample sample(seed);
  while (sample.next() < keys.size()) sample.keep(mix64(keys[sample.next()]), kOne * weight);
  return sample.sampling_error(static_cast<double>(keys.size()), kNever).variance;
}

// Of a sum in which every block is sampled with the probability 1 / weight, and then
// counts for the weight.
double exact_variance(const Keys& keys, double weight) {
  std::unordered_map<std::uint64_t, double> references;
  for (const std::uint64_t key : keys) ++references[key];
  double squares = 0;
  for (const auto& [key, count] : references) squares += count * count;
  return squares * (weight - 1);
}

// Over many seeds, since one has an error of about ten per cent.
double mean_variance(const Keys& keys, std::uint64_t weight) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) sum += variance_of(keys, weight, seed);
  return sum / 40;
}

TEST(ReferenceSample, AllOfAShortStreamGiveTheExactVariance) {
  const Keys keys = streams::zipf(2500, 500, 0.9, 1);
  EXPECT_NEAR(variance_of(keys, 7, 1), exact_variance(keys, 7), 1e-6 * exact_variance(keys, 7));
  EXPECT_EQ(variance_of(keys, 1, 1), 0);
  EXPECT_EQ(variance_of({}, 7, 1), 0);
}

TEST(ReferenceSample, TheEarlierOfTwoReferencesSaysHowLikelyBothAreSampled) {
  const Keys keys = streams::zipf(1000, 50, 0.9, 1);
  const auto weight_at = [](std::size_t i) { return 1 + i / 100; };
  ReferenceSample sample(1);
  while (sample.next() < keys.size()) {
    sample.keep(mix64(keys[sample.next()]), kOne * weight_at(sample.next()));
  }
  double exact = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (keys[i] == keys[j]) exact += static_cast<double>(weight_at(std::min(i, j)) - 1);
    }
  }
  EXPECT_NEAR(sample.sampling_error(1000, kNever).variance, exact, 1e-6 * exact);
}

TEST(ReferenceSample, IsNearOnLongStreams) {
  for (const Keys& keys : {streams::zipf(200'000, 40'000, 0.9, 1), streams::mix(200'000, 3000, 1),
                           streams::uniform(200'000, 500, 1)}) {
    EXPECT_NEAR(mean_variance(keys, 100) / exact_variance(keys, 100), 1, 0.05);
  }
}

TEST(ReferenceSample, NeitherRunsNorLoopsAreUnseen) {
  Keys runs;
  Keys loops;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    runs.push_back(i / 50);
    loops.push_back(i % 64);
  }
  EXPECT_NEAR(mean_variance(runs, 100) / exact_variance(runs, 100), 1, 0.1);
  EXPECT_NEAR(mean_variance(loops, 100) / exact_variance(loops, 100), 1, 0.05);
}

// One in ten references is to a block of the highest hash; the others are to blocks seen once.
ReferenceSample::SamplingError with_one_hot(std::uint64_t hot_hash, std::uint64_t seed) {
  ReferenceSample sample(seed);
  while (sample.next() < 200'000) {
    const std::uint64_t at = sample.next();
    sample.keep(at % 10 == 0 ? hot_hash : mix64(at), 100 * kOne);
  }
  return sample.sampling_error(200'000, 16);
}

TEST(ReferenceSample, KnowsWhatSampledBlocksLack) {
  double references = 0;
  double squares = 0;
  double told = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const ReferenceSample::SamplingError sampling_error = with_one_hot(~std::uint64_t{0}, seed);
    ASSERT_EQ(sampling_error.absent.size(), 1);
    references += sampling_error.absent[0] / 40;
    squares += (sampling_error.absent[0] - 20'000) * (sampling_error.absent[0] - 20'000) / 40;
    told += sampling_error.absent_variance / 40;
    // Variance of the others: 180,000 blocks of one reference each.
    EXPECT_NEAR(sampling_error.variance / (180'000.0 * 99), 1, 0.05);
  }
  EXPECT_NEAR(references, 20'000, 500);
  EXPECT_NEAR(squares / told, 1, 0.5);
}

TEST(ReferenceSample, SampledBlocksAreNotAbsent) {
  const ReferenceSample::SamplingError sampling_error = with_one_hot(0, 1);
  EXPECT_TRUE(sampling_error.absent.empty());
  EXPECT_EQ(sampling_error.absent_variance, 0);
  EXPECT_GT(sampling_error.variance, 20'000.0 * 20'000 * 99 / 2);
}

TEST(ReferenceSample, BlocksLookedAtRarelyAreNotKnown) {
  ReferenceSample sample(1);
  for (std::uint64_t i = 0; i < 15; ++i) sample.keep(~std::uint64_t{0}, 100 * kOne);
  EXPECT_TRUE(sample.sampling_error(15, 16).absent.empty());
  sample.keep(~std::uint64_t{0}, 100 * kOne);
  EXPECT_EQ(sample.sampling_error(16, 16).absent, std::vector<double>{16});
}

// While everything is sampled nothing is missing.
TEST(ReferenceSample, BlocksSampledBeforeTheRateFellAreNotAbsent) {
  ReferenceSample sample(1);
  for (std::uint64_t i = 0; i < 40; ++i) sample.keep(~std::uint64_t{0}, (i < 2 ? 1 : 100) * kOne);
  EXPECT_TRUE(sample.sampling_error(40, 16).absent.empty());
}

TEST(ReferenceSample, BlocksOfNoWeightAreNotAskedAfter) {
  ReferenceSample sample(1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    sample.keep(mix64(i % 2 == 0 ? 0 : i), i % 2 == 0 ? 0 : 5 * kOne);
  }
  EXPECT_DOUBLE_EQ(sample.sampling_error(100, kNever).variance, 50 * 4);
}

TEST(TimedReferenceSample, IsNearOnLongStreams) {
  const Keys keys = streams::zipf(50'000, 5000, 0.9, 1);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TimedReferenceSample whole(seed);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // Ten references at a time.
      whole.add(static_cast<Nanoseconds>(i / 10), [&] { return mix64(keys[i]); });
    }
    EXPECT_LE(whole.kept().blocks.size(), ReferenceSample::kRoom);
    EXPECT_GT(whole.kept().blocks.size(), ReferenceSample::kRoom / 3);
    const ReferenceSample sample(whole.kept().blocks, 7 * kOne);
    sum += sample.sampling_error(static_cast<double>(keys.size()), kNever).variance / 40;
  }
  EXPECT_NEAR(sum, exact_variance(keys, 7), 0.1 * exact_variance(keys, 7));
}

TEST(TimedReferenceSample, SamplesOfPiecesMerge) {
  const Keys keys = streams::zipf(50'000, 5000, 0.9, 1);
  TimedReferenceSample whole(3);
  TimedReferenceSample left(3);
  TimedReferenceSample right(3);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto time = static_cast<Nanoseconds>(i / 10);
    const auto hash = [&] { return mix64(keys[i]); };
    whole.add(time, hash);
    (i < 2000 ? left : right).add(time, hash);
  }
  left.merge(right.kept());
  EXPECT_EQ(left.kept(), whole.kept());
}

}  // namespace
}  // namespace mcsim
