// Trusts: NaiveBackgroundFifo, a queue of blocks.

#include "core/engine/policy/policy_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/random.hpp"
#include "tests/support/background_policy.hpp"

namespace mcsim {
namespace {

using testing::BackgroundFifo;
using testing::NaiveBackgroundFifo;
using BackgroundCache = PolicyCacheOf<BackgroundFifo>;

static_assert(EvictionPolicy<BackgroundFifo> && RefusingPolicy<BackgroundFifo> &&
              PolicyWithClock<BackgroundFifo> && !OnlinePolicy<BackgroundFifo>);

struct Stream {
  std::vector<BlockId> blocks;
  std::vector<std::uint8_t> ops;
  std::vector<Nanoseconds> times;
};

Stream random_stream(std::uint64_t seed, std::size_t accesses) {
  Random random(seed);
  Stream stream;
  Nanoseconds time = 5;
  for (std::size_t i = 0; i < accesses; ++i) {
    // Some accesses at one time, some after several ticks.
    time += random.below(3) == 0 ? static_cast<Nanoseconds>(random.below(40)) : 0;
    stream.blocks.push_back(BlockId(random.below(random.below(2) == 0 ? 8 : 60)));
    stream.ops.push_back(static_cast<std::uint8_t>(random.below(2)));
    stream.times.push_back(time);
  }
  return stream;
}

TEST(PolicyCache, RefusesAndTicksLikeItsTwin) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Stream stream = random_stream(seed, 2000);
    Random random(seed);
    const std::size_t capacity = 1 + random.below(30);
    BackgroundCache cache({}, {.capacity = static_cast<Count>(capacity), .blocks = 60});
    NaiveBackgroundFifo twin{.capacity = capacity};
    Nanoseconds next = stream.times.front() + BackgroundFifo::kPeriod;
    std::vector<std::uint8_t> hits(stream.blocks.size());
    const AccessBatch<> all{
        .blocks = stream.blocks, .ops = stream.ops, .times = stream.times, .hits = hits};
    CacheCounts counts;
    for (std::size_t begin = 0; begin < stream.blocks.size();) {
      const std::size_t count = 1 + random.below(300);
      const AccessBatch<> piece = all.part(begin, count);
      ASSERT_TRUE(cache.replay(piece).ok());
      for (std::size_t i = begin; i < begin + piece.blocks.size(); ++i) {
        for (; next <= stream.times[i]; next += BackgroundFifo::kPeriod) twin.tick();
        const BlockId block = stream.blocks[i];
        const bool hit = twin.holds(block);
        if (!hit && twin.admits(block)) twin.insert(block);
        ASSERT_EQ(hits[i], hit ? 1 : 0) << "seed " << seed << " access " << i;
        ++counts.accesses;
        counts.hits += hit ? 1 : 0;
        counts.writes += stream.ops[i];
        counts.write_hits += hit ? stream.ops[i] : 0;
      }
      counts.evictions = static_cast<Count>(twin.victims.size());
      ASSERT_EQ(cache.counts(), counts);
      ASSERT_TRUE(cache.check().ok());
      begin += piece.blocks.size();
    }
    EXPECT_GT(counts.hits, 0);
    EXPECT_FALSE(twin.cleaned.empty());
  }
}

TEST(PolicyCache, NeedsTimesForTicks) {
  BackgroundCache cache({}, {.capacity = 2, .blocks = 4});
  const std::vector<BlockId> blocks{1, 2, 3};
  EXPECT_TRUE(cache.needs_times());
  EXPECT_EQ(message_of(cache.replay({.blocks = blocks})),
            "background-fifo needs the time of every access");
}

// Evicts everything in a tick, whatever its budget.
class Spendthrift : public BackgroundFifo {
 public:
  using BackgroundFifo::BackgroundFifo;
  void tick(Nanoseconds, auto& cache) {
    while (size() > 0) cache.evict(blocks_.pop_back());
  }
};

TEST(PolicyCache, ATickKeepsToItsBudget) {
  PolicyCacheOf<Spendthrift> cache({}, {.capacity = 4, .blocks = 4});
  const std::vector<BlockId> blocks{0, 3, 1, 2, 0, 3, 1, 2, 0};
  const std::vector<Nanoseconds> times{0, 0, 0, 0, 0, 0, 0, 0, 10};
  EXPECT_EQ(message_of(cache.replay({.blocks = blocks, .times = times})),
            "background-fifo: a tick moved 4 blocks, its budget is 3");
}

}  // namespace
}  // namespace mcsim
