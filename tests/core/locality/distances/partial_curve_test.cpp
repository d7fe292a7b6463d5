// Trusts: Mattson's stack as a list on the whole stream, RequestDistances; associativity.
#include "core/locality/distances/partial_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/random.hpp"
#include "core/locality/distances/hash_ranges.hpp"
#include "core/locality/distances/request_distances.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using Mode = PartialCurve::Requests;
using testing::HasSubstr;

// Requests of some blocks each.
struct Stream {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> blocks, head, bytes;

  RequestShapes shapes() const { return {512, blocks, head, bytes}; }
};

Stream random_stream(Random& random, std::size_t requests, bool equal) {
  Stream stream;
  for (std::size_t r = 0; r < requests; ++r) {
    const auto blocks = static_cast<std::uint32_t>(equal ? 1 : 1 + random.below(4));
    const std::uint64_t first = random.below(30);
    for (std::uint32_t i = 0; i < blocks; ++i) stream.keys.push_back(1000 + first + i);
    stream.blocks.push_back(blocks);
    stream.head.push_back(static_cast<std::uint32_t>(equal ? 0 : random.below(512)));
    stream.bytes.push_back(static_cast<std::uint32_t>(equal ? 512 : random.below(blocks * 512)));
  }
  return stream;
}

// Numbers the keys in descending order, unlike any table.
PartialCurve analysed(const Stream& stream, std::size_t begin, std::size_t end, Mode mode) {
  std::size_t first = 0;
  for (std::size_t r = 0; r < begin; ++r) first += stream.blocks[r];
  std::size_t last = first;
  for (std::size_t r = begin; r < end; ++r) last += stream.blocks[r];
  const std::vector<std::uint64_t> keys(stream.keys.begin() + static_cast<std::ptrdiff_t>(first),
                                        stream.keys.begin() + static_cast<std::ptrdiff_t>(last));
  std::vector<std::uint64_t> key_of = keys;
  std::ranges::sort(key_of, std::greater());
  key_of.erase(std::ranges::unique(key_of).begin(), key_of.end());
  std::vector<std::uint32_t> numbers;
  for (const auto key : keys) {
    numbers.push_back(static_cast<std::uint32_t>(std::ranges::find(key_of, key) - key_of.begin()));
  }
  const auto some = [&](const std::vector<std::uint32_t>& column) {
    return std::span(column).subspan(begin, end - begin);
  };
  return analyse({.blocks = numbers,
                  .key_of = key_of,
                  .mode = mode,
                  .request_bytes = mode == Mode::kEqual ? 512U : 0U,
                  .requests = {512, some(stream.blocks), some(stream.head), some(stream.bytes)}})
      .value();
}

CurveEstimate expected_curve(const Stream& stream, bool with_requests) {
  const std::vector<Count> distances = naive::distances(stream.keys);
  CurveEstimate curve = exact_estimate(naive::histogram(stream.keys));
  if (!with_requests) return curve;
  RequestDistances requests(0);
  requests.count(stream.shapes(), distances);
  requests.add_to(curve);
  return curve;
}

void expect_equal(const CurveEstimate& a, const CurveEstimate& b) {
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.hits, b.hits);
  EXPECT_EQ(a.accesses, b.accesses);
  EXPECT_EQ(a.request_hits, b.request_hits);
  EXPECT_EQ(a.byte_hits, b.byte_hits);
  EXPECT_EQ(a.requests, b.requests);
  EXPECT_EQ(a.bytes, b.bytes);
}

// The keys of some ranges, and the number of those before them.
struct Selected {
  std::uint32_t at = 0;
  std::vector<std::uint64_t> keys;
};

Selected selected(const std::vector<std::uint64_t>& keys, std::size_t begin, std::size_t end) {
  Selected result;
  const GroupedKeys grouped = group_by_hash(keys);
  std::size_t next = 0;
  for (std::size_t range = 0; range < end; ++range) {
    const auto from = grouped.keys.begin() + static_cast<std::ptrdiff_t>(next);
    const auto until = from + static_cast<std::ptrdiff_t>(grouped.count[range]);
    if (range >= begin) result.keys.insert(result.keys.end(), from, until);
    if (range < begin) result.at += static_cast<std::uint32_t>(grouped.count[range]);
    next += grouped.count[range];
  }
  return result;
}

// The moves of the blocks in the stacks of all pieces, joined in `tasks` parts.
std::vector<RangeJoin::Moves> joined(const std::vector<PartialCurve>& pieces, std::size_t tasks) {
  std::vector<RangeJoin::Moves> result(pieces.size());
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::size_t begin = task * kHashRanges / tasks;
    const std::size_t end = (task + 1) * kHashRanges / tasks;
    RangeJoin join(pieces.size());
    std::vector<std::size_t> sizes;
    for (const PartialCurve& piece : pieces) {
      const Selected first = selected(piece.blocks.first, begin, end);
      const Selected last = selected(piece.blocks.last, begin, end);
      EXPECT_TRUE(join.add(first.keys, first.at, last.keys).ok());
      sizes.push_back(last.keys.size());
    }
    const RangeJoin::Moves all = join.finish();
    std::ptrdiff_t from = 0;
    for (std::size_t j = 0; j < pieces.size(); ++j) {
      const auto until = from + static_cast<std::ptrdiff_t>(sizes[j]);
      result[j].piece.insert(result[j].piece.end(), all.piece.begin() + from,
                             all.piece.begin() + until);
      result[j].access.insert(result[j].access.end(), all.access.begin() + from,
                              all.access.begin() + until);
      from = until;
    }
  }
  return result;
}

// Merges all pieces by ranges of hashes.
PartialCurve merged_by_ranges(const std::vector<PartialCurve>& pieces, std::size_t tasks) {
  std::vector<RankedMoves> ranked;
  const std::vector<RangeJoin::Moves> moves = joined(pieces, tasks);
  for (std::size_t j = 0; j < pieces.size(); ++j) {
    const auto range_of = group_by_hash(pieces[j].blocks.last).range_of;
    ranked.push_back(rank_moves(range_of, moves[j].piece, moves[j].access, pieces.size()).value());
  }
  std::vector<PartialCurve> resolved;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    std::vector<std::uint32_t> access;
    std::vector<Count> above;
    for (std::size_t j = 0; j < k; ++j) {
      Count later = 0;
      for (std::size_t between = j + 1; between < k; ++between) {
        for (std::size_t n = k + 1; n <= pieces.size(); ++n) {
          later += static_cast<Count>(ranked[between].count[n]);
        }
      }
      std::size_t from = 0;
      for (std::size_t n = 0; n < k; ++n) from += ranked[j].count[n];
      for (std::size_t i = from; i < from + ranked[j].count[k]; ++i) {
        access.push_back(ranked[j].access[i]);
        above.push_back(later + ranked[j].above[i]);
      }
    }
    const auto range_of = group_by_hash(pieces[k].blocks.first).range_of;
    resolved.push_back(resolve(pieces[k], {range_of, access, above}).value());
    EXPECT_TRUE(resolved.back().check().ok());
  }
  PartialCurve whole = resolved.front();
  for (std::size_t k = 1; k < resolved.size(); ++k) whole = merge(whole, resolved[k]).value();
  return whole;
}

TEST(PartialCurve, EveryDivisionAndEveryTree) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const bool equal = round % 3 == 0;
    const std::size_t requests = random.below(120);
    const Stream stream = random_stream(random, requests, equal);
    const bool counts = round % 5 != 0;
    std::vector<PartialCurve> pieces;
    for (std::size_t begin = 0; begin < requests || pieces.empty();) {
      const std::size_t end = std::min<std::size_t>(requests, begin + random.below(40));
      const Mode mode = !counts                         ? Mode::kNone
                        : equal && random.below(2) == 0 ? Mode::kEqual
                                                        : Mode::kCounted;
      pieces.push_back(analysed(stream, begin, end, mode));
      begin = end;
    }
    if (random.below(2) == 0) pieces.front().start();
    if (random.below(2) == 0) pieces.back().end();
    const PartialCurve by_ranges = merged_by_ranges(pieces, 1 + random.below(kHashRanges));
    while (pieces.size() > 1) {
      const auto left =
          pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size() - 1));
      *left = merge(*left, *(left + 1)).value();
      pieces.erase(left + 1);
    }
    EXPECT_TRUE(pieces.front().check().ok());
    expect_equal(pieces.front().curve(), expected_curve(stream, counts));
    expect_equal(by_ranges.curve(), expected_curve(stream, counts));
    EXPECT_EQ(by_ranges.distinct(), pieces.front().distinct());
    std::vector<std::uint64_t> distinct = stream.keys;
    std::ranges::sort(distinct);
    distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
    EXPECT_EQ(pieces.front().distinct(), static_cast<Count>(distinct.size()));
  }
}

// Accesses, and discards of ranges of keys.
struct Step {
  bool is_discard;
  std::uint64_t begin, end;
};

PartialCurve analysed_steps(std::span<const Step> steps) {
  std::vector<std::uint64_t> keys, at, begins, ends;
  for (const Step& step : steps) {
    if (!step.is_discard) {
      keys.push_back(step.begin);
      continue;
    }
    at.push_back(keys.size());
    begins.push_back(step.begin);
    ends.push_back(step.end);
  }
  std::vector<std::uint64_t> key_of = keys;
  std::ranges::sort(key_of, std::greater());
  key_of.erase(std::ranges::unique(key_of).begin(), key_of.end());
  std::vector<std::uint32_t> numbers;
  for (const auto key : keys) {
    numbers.push_back(static_cast<std::uint32_t>(std::ranges::find(key_of, key) - key_of.begin()));
  }
  const std::vector<std::uint32_t> one(keys.size(), 1), none(keys.size(), 0), bytes(keys.size(), 9);
  return analyse({.blocks = numbers,
                  .key_of = key_of,
                  .discards = {at, begins, ends},
                  .mode = Mode::kCounted,
                  .requests = {512, one, none, bytes}})
      .value();
}

TEST(PartialCurve, DiscardsInEveryDivisionAndEveryTree) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Step> steps;
    const std::uint64_t keys = 1 + random.below(25);
    const std::uint64_t discards = random.below(4);
    for (std::uint64_t n = random.below(80); n-- > 0;) {
      const std::uint64_t key = random.below(keys);
      const bool is_discard = random.below(10) < discards;
      steps.push_back({is_discard, key, key + 1 + random.below(4)});
    }
    naive::HoledStack stack;
    std::vector<Count> hits(100);
    Count accesses = 0;
    std::set<std::uint64_t> distinct;
    for (const Step& step : steps) {
      if (step.is_discard) {
        for (std::uint64_t key = step.begin; key < step.end; ++key) stack.discard(key);
        continue;
      }
      const Count distance = stack.access(step.begin);
      if (distance >= 0) ++hits[static_cast<std::size_t>(distance)];
      ++accesses;
      distinct.insert(step.begin);
    }
    std::vector<PartialCurve> pieces;
    for (std::size_t begin = 0; begin < steps.size() || pieces.empty();) {
      const std::size_t end = std::min<std::size_t>(steps.size(), begin + random.below(30));
      pieces.push_back(analysed_steps(std::span(steps).subspan(begin, end - begin)));
      EXPECT_TRUE(pieces.back().check().ok());
      begin = end;
    }
    if (random.below(2) == 0) pieces.front().start();
    if (random.below(2) == 0) pieces.back().end();
    while (pieces.size() > 1) {
      const auto left =
          pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size() - 1));
      *left = merge(*left, *(left + 1)).value();
      EXPECT_TRUE(left->check().ok());
      pieces.erase(left + 1);
    }
    const DistanceHistogram found = pieces.front().histogram();
    std::vector<Count> counts(100);
    for (std::size_t i = 0; i < found.distance.size(); ++i) {
      counts[static_cast<std::size_t>(found.distance[i])] = found.count[i];
    }
    EXPECT_EQ(counts, hits);
    EXPECT_EQ(pieces.front().accesses(), accesses);
    EXPECT_EQ(pieces.front().distinct(), static_cast<Count>(distinct.size()));
    const CurveEstimate curve = pieces.front().curve();
    EXPECT_EQ(curve.request_hits, accesses == 0 ? std::vector<double>() : curve.hits);
  }
}

TEST(PartialCurve, RefusesWhatDoesNotFollow) {
  Random random(1);
  const Stream stream = random_stream(random, 20, true);
  PartialCurve left = analysed(stream, 0, 10, Mode::kEqual);
  PartialCurve right = analysed(stream, 10, 20, Mode::kEqual);
  left.end();
  EXPECT_THAT(merge(left, right).status().message(), HasSubstr("nothing follows"));
  left = analysed(stream, 0, 10, Mode::kEqual);
  right.start();
  EXPECT_THAT(merge(left, right).status().message(), HasSubstr("precedes"));
}

TEST(PartialCurve, RefusesDamagedData) {
  Random random(1);
  const Stream stream = random_stream(random, 40, false);
  const PartialCurve left = analysed(stream, 0, 20, Mode::kCounted);
  const PartialCurve right = analysed(stream, 20, 40, Mode::kCounted);
  PartialCurve damaged = left;
  damaged.blocks.last.push_back(damaged.blocks.last.front());
  EXPECT_THAT(merge(damaged, right).status().message(), HasSubstr("a block twice"));
  damaged = right;
  damaged.requests.pending_firsts.back() += 1;
  EXPECT_THAT(damaged.check().message(), HasSubstr("do not fit"));
  damaged = right;
  damaged.blocks.resolved.count.front() = 0;
  EXPECT_THAT(damaged.check().message(), HasSubstr("do not increase"));
  RangeJoin join(2);
  EXPECT_TRUE(join.add({}, 0, left.blocks.last).ok());
  damaged = right;
  damaged.blocks.first.push_back(left.blocks.last.front());
  damaged.blocks.first.push_back(left.blocks.last.front());
  EXPECT_THAT(join.add(damaged.blocks.first, 0, {}).message(), HasSubstr("a block twice"));
  const std::vector<std::uint32_t> access{0, 0};
  const std::vector<Count> above{0, 0};
  const auto range_of = group_by_hash(right.blocks.first).range_of;
  EXPECT_THAT(resolve(right, {range_of, access, above}).status().message(),
              HasSubstr("moved blocks do not fit"));
  EXPECT_THAT(rank_moves(range_of, {}, {}, 2).status().message(), HasSubstr("do not fit"));
  EXPECT_THAT(ungroup(range_of, {}).status().message(), HasSubstr("without a range"));
  const std::vector<std::uint32_t> blocks{0, 2};
  const std::vector<std::uint64_t> keys{7, 8};
  EXPECT_THAT(analyse({.blocks = blocks, .key_of = keys}).status().message(),
              HasSubstr("without a key"));
}

}  // namespace
}  // namespace mcsim
