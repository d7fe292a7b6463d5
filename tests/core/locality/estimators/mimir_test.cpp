// Trusts: a naive twin that moves every block from bucket to bucket, exact
// distances, and a simulated LRU cache with ghosts.
#include "core/locality/estimators/mimir.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/exact_histogram.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using Params = MimirEstimator::Params;

CurveEstimate mimir(std::span<const std::uint64_t> keys, const Params& params) {
  MimirEstimator estimator(params, {});
  EXPECT_TRUE(estimator.process({.keys = keys}).ok());
  return estimator.curve().value();
}

// Buckets as the paper draws them: every block carries its bucket's number.
struct NaiveMimir {
  Params params;
  std::map<std::uint64_t, Count> bucket_of;  // 0 is the oldest
  std::vector<double> density = std::vector<double>(2000, 0.0);

  Count in_bucket(Count bucket) const {
    return std::ranges::count_if(bucket_of, [&](const auto& b) { return b.second == bucket; });
  }

  void access(std::uint64_t key) {
    const Count newest = params.buckets - 1;
    if (const auto found = bucket_of.find(key); found != bucket_of.end()) {
      const Count newer =
          std::ranges::count_if(bucket_of, [&](const auto& b) { return b.second > found->second; });
      const Count within = in_bucket(found->second);
      for (Count d = newer; d < newer + within; ++d) {
        density[static_cast<std::size_t>(d)] += 1 / static_cast<double>(within);
      }
    }
    bucket_of[key] = newest;
    const auto live = static_cast<Count>(bucket_of.size());
    if (in_bucket(newest) * params.buckets > live) age(live);
  }

  void age(Count live) {
    Count moved = 1;  // blocks in this bucket and newer ones get one older
    if (params.ageing == MimirAgeing::kStacker) {
      double sum = 0;
      for (const auto& [key, bucket] : bucket_of) sum += static_cast<double>(bucket);
      moved = std::max<Count>(1, static_cast<Count>(std::ceil(sum / static_cast<double>(live))));
      for (Count bucket = params.buckets - 2; bucket >= 0; --bucket) {
        if (in_bucket(bucket) == 0) moved = bucket + 1;
      }
    }
    for (auto& [key, bucket] : bucket_of) bucket -= bucket >= moved ? 1 : 0;
  }
};

TEST(Mimir, IsItsDefinition) {
  for (const auto ageing : {MimirAgeing::kRounder, MimirAgeing::kStacker}) {
    for (const Count buckets : {2, 3, 8, 40}) {
      for (const naive::NamedStream& stream : naive::awkward_streams()) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(ageing), buckets, stream.name));
        const Params params{.buckets = buckets, .ageing = ageing};
        NaiveMimir twin{.params = params, .bucket_of = {}};
        for (const std::uint64_t key : stream.keys) twin.access(key);
        const CurveEstimate curve = mimir(stream.keys, params);
        double hits = 0;
        for (std::size_t d = 0; d < 1000; ++d) {
          hits += twin.density[d];
          ASSERT_NEAR(curve.hits_at(static_cast<double>(d + 1)), hits, 1e-6) << "distance " << d;
        }
      }
    }
  }
}

TEST(Mimir, AsManyBucketsAsReferencesAreExact) {
  for (const auto ageing : {MimirAgeing::kRounder, MimirAgeing::kStacker}) {
    for (const naive::NamedStream& stream : naive::awkward_streams()) {
      const CurveEstimate exact = exact_estimate(exact_histogram(stream.keys));
      const CurveEstimate curve = mimir(stream.keys, {.buckets = 1000, .ageing = ageing});
      EXPECT_EQ(curve.capacity, exact.capacity) << stream.name;
      EXPECT_EQ(curve.hits, exact.hits) << stream.name;
    }
  }
}

TEST(Mimir, EveryHitHasADistance) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    const CurveEstimate curve = mimir(stream.keys, {.buckets = 4});
    EXPECT_EQ(curve.hits_at(1e9), static_cast<double>(stream.keys.size()) -
                                      static_cast<double>(naive::unique(stream.keys)))
        << stream.name;
  }
}

// With capacity and a bucket for each reference, ghosts are forgotten one by
// one: what is known are the blocks of an LRU cache of twice the capacity.
TEST(Mimir, KnowsTheCacheAndItsGhosts) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    for (const Count capacity : {1, 7, 40, 64}) {
      const CurveEstimate curve =
          mimir(stream.keys, {.buckets = 1000, .capacity = capacity, .ghost_factor = 2});
      for (const Count at : {1, 3, 7, 14, 40, 64, 80, 128, 1000}) {
        EXPECT_EQ(curve.hits_at(static_cast<double>(at)),
                  static_cast<double>(naive::lru_hits(
                      stream.keys, static_cast<std::size_t>(std::min(at, 2 * capacity)))))
            << stream.name << ", capacity " << capacity << " at " << at;
      }
    }
  }
}

TEST(Mimir, ForgetsGhostsButNoBlockOfTheCache) {
  Random random(6);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 60'000; ++i) keys.push_back(random.below(1 + random.below(8000)));
  const Params params{.buckets = 3, .capacity = 1000, .ghost_factor = 1.5};
  MimirEstimator estimator(params, {});
  ASSERT_TRUE(estimator.process({.keys = keys}).ok());
  // Hits of the cache itself are all noticed, whatever distance they are given.
  const CurveEstimate curve = estimator.curve().value();
  EXPECT_GE(curve.hits_at(1e9), static_cast<double>(naive::lru_hits(keys, 1000)));
  EXPECT_LE(curve.hits_at(1e9), static_cast<double>(naive::lru_hits(keys, 1500)));
  EXPECT_LE(curve.capacity.back(), 1501);
  EXPECT_NEAR(estimator.distinct(), static_cast<double>(naive::unique(keys)), 500);
  EXPECT_LT(estimator.bytes(), 300'000);
}

}  // namespace
}  // namespace mcsim
