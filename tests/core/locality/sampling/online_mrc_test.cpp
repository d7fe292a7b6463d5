// Trusts: a twin of maps and lists that keeps every rate as a fraction; the exact
// curve, where nothing was dropped; a counter in place of operator new.
#include "core/locality/sampling/online_mrc.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/locality/distances/reuse_distance.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/streams.hpp"

namespace mcsim {
namespace {

using streams::Keys;

// SHARDS of fixed size as it is told: a set of hashes and a list by recency.
struct Twin {
  // A sampled reference: sampled blocks since the last one, -1 for a first; the
  // rate was threshold / 2^64.
  struct Sampled {
    Count distance;
    double threshold;
  };

  Twin(const Keys& keys, std::size_t max_blocks, std::uint64_t seed, double initial_rate = 1) {
    if (initial_rate < 1) threshold = static_cast<std::uint64_t>(std::ldexp(initial_rate, 64));
    std::map<std::uint64_t, long> last;  // hash -> position
    std::set<long> positions;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t hash = mix64(keys[i] ^ mix64(seed));
      if (hash >= threshold) continue;
      const auto now = static_cast<long>(i);
      const auto found = last.find(hash);
      Count distance = -1;
      if (found != last.end()) {
        distance = std::distance(positions.upper_bound(found->second), positions.end());
        positions.erase(found->second);
      }
      sampled.push_back({distance, static_cast<double>(threshold)});
      last[hash] = now;
      positions.insert(now);
      if (last.size() > max_blocks) {
        const auto highest = std::prev(last.end());
        threshold = highest->first;
        positions.erase(highest->second);
        last.erase(highest);
      }
    }
    blocks = last.size();
  }

  double references() const {
    double sum = 0;
    for (const Sampled& s : sampled) sum += std::ldexp(1, 64) / s.threshold;
    return sum;
  }
  double hits(double capacity) const {
    double sum = 0;
    for (const Sampled& s : sampled) {
      const double scale = std::ldexp(1, 64) / s.threshold;
      if (s.distance < 0) continue;
      if ((static_cast<double>(s.distance) + 0.5) * scale + 0.5 <= capacity) sum += scale;
    }
    return sum;
  }

  std::vector<Sampled> sampled;
  std::uint64_t threshold = ~std::uint64_t{0};
  std::size_t blocks = 0;
};

void expect_equal(const OnlineMrc& mrc, const Twin& twin) {
  EXPECT_DOUBLE_EQ(mrc.rate(), std::ldexp(static_cast<double>(twin.threshold), -64));
  const double total = twin.references();
  EXPECT_NEAR(mrc.sampled_references(), total, 1e-5 * total);
  double hits = 0;
  for (std::size_t bin = 0; bin < OnlineMrc::kBinCount; ++bin) {
    hits += mrc.hits_in(bin);
    if (bin % 16 != 0 && hits < total / 2) continue;
    // Weights are rounded to 2^-16: a capacity may be off by as much.
    const auto end = static_cast<double>(OnlineMrc::kBins.lowest(bin + 1));
    EXPECT_GE(hits, twin.hits((end - 1) * (1 - 1e-4)) - 1e-5 * total - 1e-3);
    EXPECT_LE(hits, twin.hits(end * (1 + 1e-4)) + 1e-5 * total + 1e-3);
    if (end > 1e6) break;
  }
  EXPECT_NEAR(hits + mrc.cold(), mrc.sampled_references(), 1e-6 * total);
}

OnlineMrc fed(const Keys& keys, std::size_t max_blocks, std::uint64_t seed,
              std::size_t hot_blocks = 0, double initial_rate = 1) {
  OnlineMrc mrc(max_blocks, seed, hot_blocks, initial_rate);
  mrc.process(keys);
  return mrc;
}

std::vector<std::pair<const char*, Keys>> kinds(std::size_t length) {
  return {{"zipf", streams::zipf(length, 4000, 0.9, 1)},
          {"uniform", streams::uniform(length, 3000, 2)},
          {"mix", streams::mix(length, 1000, 3)}};
}

TEST(OnlineMrc, EqualsItsTwin) {
  for (const auto& [name, keys] : kinds(20'000)) {
    for (const std::size_t max_blocks : {16, 100, 500}) {
      for (const std::uint64_t seed : {1, 2}) {
        SCOPED_TRACE(testing::Message() << name << ", " << max_blocks << ", " << seed);
        expect_equal(fed(keys, max_blocks, seed), Twin(keys, max_blocks, seed));
      }
    }
  }
}

TEST(OnlineMrc, EqualsItsTwinFromAnyInitialRate) {
  for (const auto& [name, keys] : kinds(20'000)) {
    for (const double rate : {0.3, 0.1, 0.001}) {
      for (const std::size_t max_blocks : {16, 100, 5000}) {
        SCOPED_TRACE(testing::Message() << name << ", " << rate << ", " << max_blocks);
        const Twin twin(keys, max_blocks, 3, rate);
        OnlineMrc mrc = fed(keys, max_blocks, 3, 0, rate);
        expect_equal(mrc, twin);
        EXPECT_LE(mrc.rate(), rate);
        mrc.clear();
        EXPECT_DOUBLE_EQ(mrc.rate(), rate);
        mrc.process(keys);
        expect_equal(mrc, twin);
      }
    }
  }
}

TEST(OnlineMrc, EqualsItsTwinOnAwkwardStreams) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    expect_equal(fed(keys, 32, 9), Twin(keys, 32, 9));
  }
}

TEST(OnlineMrc, EqualsItsTwinOnAdversarialKeys) {
  for (const auto& key_at : std::vector<std::uint64_t (*)(std::uint64_t)>{
           [](std::uint64_t i) { return i; }, [](std::uint64_t i) { return i << 44; },
           [](std::uint64_t i) { return (std::uint64_t{1} << 63) - 500 + i; }}) {
    Keys keys;
    for (std::uint64_t i = 0; i < 6000; ++i) keys.push_back(key_at(i % 1500));
    expect_equal(fed(keys, 64, 4), Twin(keys, 64, 4));
  }
}

// Many times the slots: the time axis is compacted over and over.
TEST(OnlineMrc, EqualsItsTwinOnALongStream) {
  const Keys keys = streams::uniform(130'000, 60, 5);
  OnlineMrc mrc = fed(keys, 50, 6);
  expect_equal(mrc, Twin(keys, 50, 6));
}

TEST(OnlineMrc, IsExactWhileEveryBlockFits) {
  const Keys keys = streams::zipf(50'000, 300, 0.8, 7);
  const OnlineMrc mrc = fed(keys, 512, 1);
  const CurveEstimate curve = mrc.curve();
  const HitCurve exact(histogram_of(keys).value());
  EXPECT_EQ(curve.accesses, 50'000);
  for (Count c = 0; c < 400; ++c) {
    EXPECT_EQ(curve.hits_at(static_cast<double>(c)), static_cast<double>(exact.hits(c)));
  }
  EXPECT_EQ(curve.low, curve.hits);
  EXPECT_EQ(curve.high, curve.hits);
  EXPECT_EQ(mrc.distinct(), static_cast<double>(naive::unique(keys)));
}

TEST(OnlineMrc, PiecesAndSingleKeysChangeNothing) {
  for (const std::size_t hot_blocks : {0, 32}) {
    const Keys keys = streams::mix(60'000, 2000, 8);
    const CurveEstimate whole = fed(keys, 200, 3, hot_blocks).curve();
    OnlineMrc pieces(200, 3, hot_blocks);
    for (std::size_t i = 0; i < keys.size();) {
      const std::size_t count = std::min(keys.size() - i, i % 1013 + 1);
      pieces.process(std::span(keys).subspan(i, count));
      i += count;
    }
    OnlineMrc single(200, 3, hot_blocks);
    for (const std::uint64_t key : keys) single.process(key);
    OnlineMrc again = fed(streams::uniform(30'000, 5000, 1), 200, 3, hot_blocks);
    again.clear();
    again.process(keys);
    for (const OnlineMrc* mrc : {&pieces, &single, &again}) {
      EXPECT_EQ(mrc->curve().capacity, whole.capacity);
      EXPECT_EQ(mrc->curve().hits, whole.hits);
      EXPECT_EQ(mrc->curve().low, whole.low);
    }
  }
}

TEST(OnlineMrc, AllocatesNothingOnceItIsMade) {
  const Keys keys = streams::mix(400'000, 30'000, 9);
  for (const std::size_t hot_blocks : {0, 64}) {
    OnlineMrc mrc(1024, 1, hot_blocks);
    const long before = allocations();
    mrc.process(keys);
    for (std::size_t i = 0; i < 50'000; ++i) mrc.process(keys[i]);
    mrc.clear();
    mrc.process(keys);
    EXPECT_EQ(allocations(), before);
  }
}

TEST(OnlineMrc, FitsItsMemory) {
  EXPECT_LT(OnlineMrc(8192, 1).bytes(), 400'000U);
  EXPECT_LT(OnlineMrc(2048, 1).bytes(), 200'000U);
}

// The whole stream's references, in expectation: over seeds the mean of the
// weights' sum is the length.
TEST(OnlineMrc, WeightsSumToTheStream) {
  const Keys keys = streams::uniform(100'000, 20'000, 10);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sum += fed(keys, 512, seed).sampled_references();
  }
  EXPECT_NEAR(sum / 40, 100'000, 100'000 * 4 / std::sqrt(512.0 * 40));
}

TEST(OnlineMrc, HotBlocksAreCountedOnce) {
  Keys keys = streams::uniform(300'000, 50'000, 11);
  for (std::size_t i = 0; i < keys.size(); i += 2) keys[i] = 1'000'000 + i / 2 % 4;
  // Four blocks have half of the references; nearly all of those are exact.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const OnlineMrc mrc = fed(keys, 512, seed, 16);
    EXPECT_NEAR(mrc.sampled_references(), 300'000, 40'000) << seed;
  }
  const HitCurve exact(histogram_of(keys).value());
  const CurveEstimate curve = fed(keys, 512, 1, 16).curve();
  for (const Count c : {2000, 10'000, 40'000}) {
    EXPECT_NEAR(curve.hits_at(static_cast<double>(c)), static_cast<double>(exact.hits(c)),
                0.03 * 300'000);
  }
}

TEST(LogLinearBins, EveryNumberIsInItsBin) {
  constexpr LogLinearBins bins{3};
  for (std::uint64_t x = 0; x < 5000; ++x) {
    const std::size_t bin = bins.index(x);
    EXPECT_LE(bins.lowest(bin), x);
    EXPECT_GE(bins.highest(bin), x);
    EXPECT_EQ(bins.index(bins.lowest(bin)), bin);
    EXPECT_EQ(bins.index(bins.highest(bin)), bin);
    EXPECT_LE((bins.highest(bin) - bins.lowest(bin)) << 3, x);
    EXPECT_TRUE(x >= 16 || bin == x);
  }
}

TEST(RankedSlots, CountsWhatIsLeft) {
  for (const std::size_t size : {100U, 70'000U}) {
    RankedSlots slots(size);
    std::vector<bool> live(slots.size(), true);
    Random random(12);
    for (int i = 0; i < 3000; ++i) {
      const std::size_t slot = random.below(slots.size());
      if (live[slot]) slots.clear(slot);
      live[slot] = false;
    }
    std::uint32_t rank = 0;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      rank += live[slot] ? 1 : 0;
      ASSERT_EQ(slots.rank(slot), rank);
    }
    slots.fill();
    EXPECT_EQ(slots.rank(slots.size() - 1), slots.size());
  }
}

// Hashes all over, all the same but for their last bits, and close to the limit.
TEST(HashSample, KeepsTheLowestWhateverTheHashes) {
  for (const int shift : {0, 20, 52}) {
    for (const std::uint64_t top :
         {std::uint64_t{0}, ~std::uint64_t{0} >> 1, ~std::uint64_t{0} - 1}) {
      HashSample sample(65);
      std::map<std::uint64_t, std::uint32_t> twin;
      Random random(13);
      std::uint64_t limit = HashSample::kNone;
      for (std::uint32_t i = 0; i < 5000; ++i) {
        const std::uint64_t offset = random() >> shift;
        const std::uint64_t hash = top == 0 ? offset : std::min(top, top - offset);
        if (hash >= limit) continue;
        const std::size_t at = sample.find(hash);
        ASSERT_EQ(sample.holds(at, hash), twin.contains(hash));
        if (sample.holds(at, hash)) {
          EXPECT_EQ(sample.time(at), twin[hash]);
          sample.time(at) = twin[hash] = i;
          continue;
        }
        sample.insert(at, hash, i);
        twin[hash] = i;
        if (twin.size() > 64) {
          const auto highest = std::prev(twin.end());
          ASSERT_EQ(sample.highest(), highest->first);
          EXPECT_EQ(sample.highest_time(), highest->second);
          limit = highest->first;
          sample.pop_highest();
          twin.erase(highest);
        }
        ASSERT_EQ(sample.size(), twin.size());
      }
    }
  }
}

}  // namespace
}  // namespace mcsim
