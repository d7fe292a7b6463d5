// Trusts: Mattson's stack as a list; for long streams a list of times in which
// the later ones are counted; equality of all forms of the loops.
#include "core/locality/distances/exact_distances.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/locality/distances/reuse_distance.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

// Enough accesses to use up the shortest time axis several times.
naive::Keys long_stream(std::size_t length, std::uint64_t blocks, std::uint64_t seed) {
  Random random(seed);
  naive::Keys keys;
  while (keys.size() < length) {
    const std::uint64_t bound = 1 + random.below(blocks);
    keys.push_back(random.below(bound));
  }
  return keys;
}

DistanceHistogram count(const std::vector<Count>& distances) {
  std::map<Count, Count> counts;
  DistanceHistogram histogram;
  for (const Count distance : distances) {
    if (distance == kCold) {
      ++histogram.cold;
    } else {
      ++counts[distance];
    }
  }
  for (const auto& [distance, times] : counts) {
    histogram.distance.push_back(distance);
    histogram.count.push_back(times);
  }
  return histogram;
}

TEST(ExactDistances, EqualMattsonsStackInEveryForm) {
  std::vector<naive::NamedStream> streams = naive::awkward_streams();
  streams.push_back({"long", long_stream(150'000, 60, 1)});
  streams.push_back({"long and wide", long_stream(150'000, 60, 2)});
  for (auto& key : streams.back().keys) key = mix64(key);
  for (const auto& [name, keys] : streams) {
    const std::vector<Count> expected = naive::distances(keys);
    for (const Isa which : isas_here()) {
      SCOPED_TRACE(std::string(name_of(which)) + ", " + name);
      BlockTable table;
      DistanceState state(0);
      std::vector<Count> distances(keys.size(), 77);
      with_this_isa(which, [&]<Isa kIsa>() {
        EXPECT_TRUE(count_key_distances<kIsa>(table, state, keys, distances.data(),
                                              DistanceOptions::kMaxBlocks));
      });
      ASSERT_EQ(distances, expected);
      EXPECT_EQ(state.histogram(), count(expected));

      naive::Keys numbered;
      std::map<std::uint64_t, std::uint32_t> numbers;
      std::vector<std::uint32_t> blocks;
      for (const std::uint64_t key : keys) {
        blocks.push_back(
            numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second);
      }
      Pages<std::uint32_t> last(numbers.size());
      DistanceState dense(0);
      std::vector<Count> dense_distances(keys.size(), 77);
      with_this_isa(which, [&]<Isa kIsa>() {
        count_block_distances<kIsa>({last.data(), last.size()}, dense, blocks,
                                    dense_distances.data());
      });
      ASSERT_EQ(dense_distances, expected);
      EXPECT_EQ(dense.histogram(), state.histogram());
    }
  }
}

TEST(ExactDistances, PiecesChangeNothing) {
  const naive::Keys keys = long_stream(120'000, 20'000, 3);
  ExactDistances whole;
  std::vector<Count> expected(keys.size());
  ASSERT_TRUE(whole.process(keys, expected).ok());
  for (const std::uint64_t longest : {1U, 7U, 300U, 5000U}) {
    Random random(longest);
    ExactDistances pieces;
    std::vector<Count> distances(keys.size());
    for (std::size_t begin = 0; begin < keys.size();) {
      const auto size = std::min<std::size_t>(random.below(longest + 1), keys.size() - begin);
      const auto piece = std::span(keys).subspan(begin, size);
      if (random.below(2) == 0) {
        ASSERT_TRUE(pieces.process(piece, std::span(distances).subspan(begin, size)).ok());
      } else {
        ASSERT_TRUE(pieces.process(piece).ok());
        std::copy_n(expected.begin() + static_cast<long>(begin), size,
                    distances.begin() + static_cast<long>(begin));
      }
      begin += size;
    }
    EXPECT_EQ(distances, expected);
    EXPECT_EQ(pieces.histogram(), whole.histogram());
    EXPECT_EQ(pieces.distinct(), whole.distinct());
  }
}

// Hundreds of thousands of blocks: the table grows, and the axis moves, often.
TEST(ExactDistances, SumUpOnLargeFootprints) {
  naive::Keys keys;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t key = 0; key < 300'000; ++key) keys.push_back(key);
  }
  ExactDistances exact;
  ASSERT_TRUE(exact.process(keys).ok());
  EXPECT_EQ(exact.histogram(),
            (DistanceHistogram{.distance = {299'999}, .count = {600'000}, .cold = 300'000}));
  EXPECT_LE(exact.bytes(), 26 * 300'000U + 4 * 2 * 300'000U);
}

// A curve for each of many VMs maps no memory.
TEST(ExactDistances, OfFewBlocksTakeSixPages) {
  ExactDistances exact;
  const std::vector<std::uint64_t> keys{4, 7, 4, 9, 7};
  ASSERT_TRUE(exact.process(keys).ok());
  EXPECT_LE(exact.bytes(), 6 * 4096U);
}

TEST(ExactDistances, RefuseMoreBlocksThanTheyCanTell) {
  ExactDistances exact({.max_blocks = 1000});
  naive::Keys keys;
  for (std::uint64_t key = 0; key < 1000; ++key) keys.push_back(key);
  ASSERT_TRUE(exact.process(keys).ok());
  ASSERT_TRUE(exact.process(keys).ok());
  const absl::Status refused = exact.process(naive::Keys{5000});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(message_of(refused).find("more than 1000 distinct blocks"), std::string::npos);
  EXPECT_FALSE(exact.process(keys).ok());
}

TEST(ExactDistances, RefuseAListOfAnotherLength) {
  ExactDistances exact;
  std::vector<Count> distances(2);
  EXPECT_FALSE(exact.process(naive::Keys{1, 2, 3}, distances).ok());
}

// The law of the bins: exact where a bin ends, at most a bin's width off between.
TEST(ExactDistances, BinsAreExactAtTheirEnds) {
  const naive::Keys keys = long_stream(200'000, 30'000, 4);
  const HitCurve exact(*histogram_of(keys));
  for (const int bits : {1, 4, 7}) {
    ExactDistances binned({.bin_bits = bits});
    ASSERT_TRUE(binned.process(keys).ok());
    const DistanceHistogram histogram = binned.histogram();
    EXPECT_EQ(histogram.accesses(), exact.accesses());
    EXPECT_LE(histogram.distance.size(), std::size_t{18} << bits);
    const HitCurve curve(histogram);
    for (const Count distance : histogram.distance) {
      ASSERT_EQ(curve.hits(distance + 1), exact.hits(distance + 1));
    }
    for (Count capacity = 1; capacity < 30'000; capacity += 17) {
      const auto narrower = static_cast<double>(capacity) * (1 - std::ldexp(1.0, -bits));
      ASSERT_LE(curve.hits(capacity), exact.hits(capacity));
      ASSERT_GE(curve.hits(capacity), exact.hits(static_cast<Count>(narrower) - 1));
    }
  }
}

TEST(DistanceBins, BinsFollowOneAnother) {
  for (const int bits : {1, 3, 8}) {
    std::size_t bin = 0;
    for (std::uint64_t distance = 0; distance < 100'000; ++distance) {
      const std::size_t next = DistanceBins::bin_of(distance, bits);
      ASSERT_TRUE(next == bin || next == bin + 1);
      if (next == bin + 1) {
        ASSERT_EQ(DistanceBins::last_of(bin, bits), distance - 1);
      }
      bin = next;
    }
    EXPECT_EQ(DistanceBins::bin_of(~std::uint64_t{0} >> 32, bits),
              DistanceBins::bin_of(
                  DistanceBins::last_of(DistanceBins::bin_of(~std::uint64_t{0} >> 32, bits), bits),
                  bits));
  }
}

TEST(DistanceBins, CarryBeforeTheyOverflow) {
  DistanceBins bins(0);
  constexpr Count kFull = std::numeric_limits<std::uint32_t>::max();
  Count total = 0;
  for (int round = 0; round < 3; ++round) {
    bins.make_room(4, static_cast<std::size_t>(kFull) - 5);
    bins.counts()[2] += static_cast<std::uint32_t>(kFull - 5);
    total += kFull - 5;
  }
  bins.make_room(4, 3);
  bins.counts()[3] += 3;
  EXPECT_EQ(bins.histogram(9),
            (DistanceHistogram{.distance = {2, 3}, .count = {total, 3}, .cold = 9}));
}

}  // namespace
}  // namespace mcsim
