// Trusts: naive policies of lines with a set of blocks each, access by access; ordinary
// caches of the lines; small cases worked by hand.
#include "core/engine/caches/sub_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/trace/interning/access_builder.hpp"
#include "policies/allocation/hierarchy.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/simulate.hpp"
#include "tests/support/naive_twins.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

using ::mcsim::testing::policy_traces;
using ::mcsim::testing::PolicyTrace;

// Lines under a naive policy, and which of their blocks are there.
class NaiveSubBlocks {
 public:
  NaiveSubBlocks(std::unique_ptr<naive::Policy> lines, std::uint32_t line_blocks)
      : lines_(std::move(lines)), line_blocks_(line_blocks) {}

  void access(BlockId block, NextUse next_use) {
    const BlockId line(block / line_blocks_);
    const bool tag = lines_->contains(line);
    const bool hit = tag && blocks_of_[line].contains(block);
    ++counts.accesses;
    counts.hits += hit ? 1 : 0;
    counts.partial_misses += tag && !hit ? 1 : 0;
    lines_->access(line, next_use);
    const bool is_victim =
        std::ranges::find(lines_->victims, std::uint64_t{line}) != lines_->victims.end();
    if (lines_->contains(line) || is_victim) blocks_of_[line].insert(block);
    for (const std::uint64_t victim : lines_->victims) {
      counts.evictions += static_cast<Count>(blocks_of_[victim].size());
      blocks_of_[victim].clear();
    }
  }
  bool contains(BlockId block) { return blocks_of_[block / line_blocks_].contains(block); }

  CacheCounts counts;

 private:
  std::unique_ptr<naive::Policy> lines_;
  std::uint32_t line_blocks_;
  std::map<std::uint64_t, std::set<BlockId>> blocks_of_;
};

std::unique_ptr<TierCache> sub_blocks(const std::string& policy, const PolicyTrace& trace,
                                      std::size_t blocks, Count lines, std::uint32_t line_blocks) {
  const auto make = [&](const PolicySetup& setup) {
    return eviction_registry().make(policy, {}, setup);
  };
  const PolicySetup setup{.capacity = lines * line_blocks, .blocks = blocks, .trace = trace.blocks};
  return make_sub_block_cache(make, setup, line_blocks).value();
}

std::size_t whole_lines(std::size_t blocks, std::uint32_t line_blocks) {
  return (blocks + line_blocks - 1) / line_blocks * line_blocks;
}

TEST(SubBlocks, AreTheirNaiveTwinAccessByAccess) {
  for (const PolicyTrace& trace : policy_traces(500)) {
    for (const auto& entry : eviction_policies()) {
      const std::string name = entry.info.name;
      for (const std::uint32_t line_blocks : {3U, 8U}) {
        const Count lines = 6;
        const std::size_t blocks = whole_lines(trace.unique, line_blocks);
        auto twin = naive::twin(name, {}, lines, blocks / line_blocks);
        if (twin == nullptr) continue;
        NaiveSubBlocks naive(std::move(twin), line_blocks);
        const auto uses = next_uses(trace.blocks, blocks, line_blocks).value();
        const auto cache = sub_blocks(name, trace, blocks, lines, line_blocks);
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
          naive.access(trace.blocks[i], uses[i]);
          const AccessBatch<> one{.blocks = std::span(trace.blocks).subspan(i, 1),
                                  .next_uses = {uses.data() + i, 1}};
          ASSERT_TRUE(cache->replay(one).ok());
          ASSERT_EQ(cache->counts(), naive.counts)
              << name << ", " << trace.name << ", access " << i;
          ASSERT_EQ(cache->contains(trace.blocks[i]), naive.contains(trace.blocks[i]));
        }
        const absl::Status checked = cache->check();
        EXPECT_TRUE(checked.ok()) << name << ": " << checked;
      }
    }
  }
}

TEST(SubBlocks, OfLinesOfOneBlockAreTheOrdinaryCache) {
  for (const PolicyTrace& trace : policy_traces(1000)) {
    for (const auto& entry : eviction_policies()) {
      const PolicySetup setup{.capacity = 20, .blocks = trace.unique, .trace = trace.blocks};
      const auto ordinary = eviction_registry().make(entry.info.name, {}, setup).value();
      const auto cache = sub_blocks(entry.info.name, trace, trace.unique, 20, 1);
      const AccessBatch<> all{.blocks = trace.blocks, .next_uses = trace.next_uses};
      ASSERT_TRUE(cache->replay(all).ok());
      ASSERT_TRUE(ordinary->replay(all).ok());
      EXPECT_EQ(cache->counts(), ordinary->counts()) << entry.info.name << ", " << trace.name;
    }
  }
}

// If all blocks of a line came with the first, partial misses would be hits.
TEST(SubBlocks, WithPartialMissesTakenForHitsAreACacheOfLargerBlocks) {
  constexpr std::uint32_t kLine = 4;
  for (const PolicyTrace& trace : policy_traces(1000)) {
    std::vector<BlockId> lines(trace.blocks);
    for (BlockId& line : lines) line = BlockId(line / kLine);
    const std::size_t blocks = whole_lines(trace.unique, kLine);
    std::vector<CacheConfig> of_lines;
    std::vector<CacheConfig> of_blocks;
    for (const auto& entry : eviction_policies()) {
      of_lines.push_back({entry.info.name, {}, 12});
      of_blocks.push_back({entry.info.name, {}, 12 * kLine});
    }
    const auto large = simulate(lines, {}, blocks / kLine, of_lines).value();
    const SimulateOptions options{.threads = 2, .line_blocks = kLine};
    const auto found = simulate(trace.blocks, {}, blocks, of_blocks, options).value();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const CacheCounts& counts = found[i].counts;
      EXPECT_EQ(counts.hits + counts.partial_misses, large[i].counts.hits)
          << of_lines[i].policy << ", " << trace.name;
    }
  }
}

TEST(SubBlocks, AFewAccessesByHand) {
  // Lines {0, 1, 2, 3}, {4, …}, {8, …}; space for two.
  const std::vector<BlockId> blocks{0, 1, 0, 5, 1, 4, 8, 4, 1, 5};
  const std::vector<std::uint8_t> ops{0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
  // Misses 0; 1 partly; hits 0; misses 5; hits 1; misses 4 partly; 8, for which 0 and 1
  // leave; hits 4; misses 1, for which 8 leaves; hits 5.
  const SimulateOptions options{.line_blocks = 4};
  const auto found = simulate(blocks, ops, 12, {{CacheConfig{"lru", {}, 8}}}, options).value();
  EXPECT_EQ(found[0].counts, (CacheCounts{.accesses = 10,
                                          .hits = 4,
                                          .writes = 2,
                                          .write_hits = 1,
                                          .evictions = 3,
                                          .partial_misses = 2}));
}

TEST(SubBlocks, BlocksAreTakenOutAndLinesWithTheLast) {
  const PolicyTrace trace{.name = "", .blocks = {0, 1, 2, 3, 4, 5, 6, 7}, .next_uses = {}};
  const auto cache = sub_blocks("fifo", trace, 8, 2, 2);
  ASSERT_TRUE(cache->replay({.blocks = std::span(trace.blocks).first(3)}).ok());
  EXPECT_EQ(cache->size(), 3);
  EXPECT_FALSE(cache->take(3));
  EXPECT_TRUE(cache->take(0));
  EXPECT_TRUE(cache->contains(1));
  EXPECT_TRUE(cache->take(1));
  ASSERT_TRUE(cache->check().ok());
  // There is space for a line again.
  std::vector<BlockId> victims;
  cache->insert({.block = 5}, victims);
  EXPECT_THAT(victims, ::testing::IsEmpty());
  cache->resize(3, victims);  // one line
  EXPECT_THAT(numbers_of(victims), ::testing::ElementsAre(2));
  EXPECT_EQ(cache->capacity(), 2);
  EXPECT_EQ(cache->size(), 1);
  EXPECT_TRUE(cache->check().ok());
}

TEST(SubBlocks, ImpossibleOnesAreRefused) {
  const std::vector<BlockId> blocks{0};
  const SimulateOptions options{.line_blocks = 8};
  EXPECT_EQ(message_of(simulate(blocks, {}, 8, {{CacheConfig{"lru", {}, 7}}}, options).status()),
            "line: a cache of 7 blocks is smaller than a line of 8");
}

// Requests of one VM, from a byte and so long.
struct Piece {
  std::uint64_t offset;
  std::uint32_t length;
  Op op = Op::kRead;
};

absl::StatusOr<Accesses> interned(const std::vector<Piece>& pieces, ExpandOptions options) {
  options.ops = OpFilter::kAll;
  AccessBuilder builder(options, TimeBase::kIndex);
  EXPECT_TRUE(builder.begin_vm("vm").ok());
  Requests requests;
  for (const Piece& piece : pieces) requests.push(0, 0, piece.op, piece.offset, piece.length);
  MCSIM_RETURN_IF_ERROR(builder.add(requests.view()));
  return std::move(builder).finish();
}

TEST(Lines, HaveTheirBlocksSideBySide) {
  const auto trace =
      interned({{40, 20}, {0, 10}, {50, 10}}, {.block_bytes = 10, .line_blocks = 4}).value();
  EXPECT_THAT(numbers_of(trace.ids), ::testing::ElementsAre(0, 1, 4, 1));
  EXPECT_EQ(trace.id_count(), 8);
  EXPECT_EQ(trace.line_blocks, 4);
}

TEST(Lines, RequestsAreCutAndSampledByPlace) {
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < 4000; ++i) pieces.push_back({i % 1000 * 40 + 30, 20});
  ExpandOptions options{.block_bytes = 10, .cut_bytes = 40};
  const Accesses all = interned(pieces, options).value();
  EXPECT_EQ(all.request_count(), 8000);
  EXPECT_EQ(all.given.requests[0], 8000);
  EXPECT_EQ(all.access_count(), 8000);
  options.sample_rate = 0.25;
  const Accesses some = interned(pieces, options).value();
  EXPECT_EQ(some.given.requests[0], 8000);
  EXPECT_EQ(some.given.accesses[0], 8000);
  EXPECT_NEAR(static_cast<double>(some.request_count()), 2000, 200);
  // Both pieces of each sampled place were accessed each time.
  std::map<BlockId, int> times;
  for (const BlockId id : some.ids) ++times[id];
  for (const auto& [id, count] : times) EXPECT_EQ(count, 4) << id;
  options.sample_seed = 2;
  EXPECT_NE(interned(pieces, options)->request_count(), some.request_count());
}

TEST(Lines, MistakesAreTold) {
  const auto message = [](const ExpandOptions& options) {
    return message_of(interned({{0, 1}}, options).status());
  };
  EXPECT_EQ(message({.block_bytes = 10, .line_blocks = 3, .cut_bytes = 40}),
            "cut: 40 bytes are no multiple of lines of 30");
  EXPECT_EQ(message({.block_bytes = 10, .sample_rate = 0.5}), "sample_rate needs cut_bytes");
  EXPECT_EQ(message({.block_bytes = 10, .cut_bytes = 10, .sample_rate = 2}),
            "sample rate: 2 is outside (0, 1]");
  EXPECT_EQ(message({.key = BlockKey::kByteOffset, .line_blocks = 2}),
            "line: byte-offset keys have no lines of blocks");
}

VmCounters replayed(const std::vector<Piece>& pieces, Count capacity, Hierarchy::Params params) {
  const Machine machine{.tiers = {{.device = {}, .capacity_blocks = capacity}}, .backend = {}};
  Hierarchy system(std::move(params), {.machine = machine});
  const Accesses trace = interned(pieces, system.trace_view({.block_bytes = 10})).value();
  const auto host = system.make_host(trace).value();
  host->replay(trace, trace.all());
  EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
  return host->counters()[0];
}

Hierarchy::Params lines_of(Count line, const char* writes) {
  Hierarchy::Params params;
  params.line = line;
  params.writes = writes;
  return params;
}

TEST(SubBlocks, OfAHostAreDirtyOneByOne) {
  // Blocks 0 and 1 become dirty, 2 is read, 3 never comes; then line {4, …} pushes out
  // all three, of which two are written back.
  const std::vector<Piece> pieces{
      {0, 20, Op::kWrite}, {10, 20, Op::kRead}, {40, 10, Op::kRead}, {0, 10, Op::kRead}};
  const VmCounters of = replayed(pieces, 4, lines_of(4, "back"));
  EXPECT_EQ(of.misses, 5);
  EXPECT_EQ(of.backend_reads, 3);  // 2, 4 and 0 again: writes read nothing
  EXPECT_EQ(of.write_backs, 2);
  EXPECT_EQ(of.backend_writes, 2);
  EXPECT_EQ(of.tiers[0].evictions, 4);  // 0, 1 and 2, then 4
  EXPECT_EQ(of.tiers[0].fills, 5);
  EXPECT_EQ(of.tiers[0].occupancy, 1);
  const VmCounters through = replayed(pieces, 4, lines_of(4, "through"));
  EXPECT_EQ(through.backend_writes, 2);
  EXPECT_EQ(through.write_backs, 0);
  EXPECT_EQ(replayed(pieces, 4, lines_of(4, "around")).tiers[0].fills, 4);
}

TEST(SubBlocks, OfAHostHitAsThoseAlone) {
  Random random(3);
  std::vector<Piece> pieces;
  for (int i = 0; i < 5000; ++i) pieces.push_back({10 * random.below(1 + random.below(600)), 10});
  for (const char* policy : {"lru", "arc", "s3-fifo", "w-tinylfu", "opt"}) {
    Hierarchy::Params params = lines_of(4, "through");
    params.policy = policy;
    const VmCounters host = replayed(pieces, 80, params);
    const Accesses trace = interned(pieces, {.block_bytes = 10, .line_blocks = 4}).value();
    const auto alone = simulate(trace.ids, {}, trace.id_count(), {{CacheConfig{policy, {}, 80}}},
                                {.line_blocks = 4})
                           .value();
    EXPECT_EQ(host.accesses - host.misses, alone[0].counts.hits) << policy;
    EXPECT_GT(alone[0].counts.partial_misses, 0);
  }
}

TEST(SubBlocks, HostsRefuseWhatIsOfBlocks) {
  const auto message = [](Hierarchy::Params params) {
    const Machine machine{.tiers = {{.device = {}, .capacity_blocks = 6}}, .backend = {}};
    Hierarchy system(std::move(params), {.machine = machine});
    const Accesses trace = interned({{0, 1}}, system.trace_view({.block_bytes = 10})).value();
    return message_of(system.make_host(trace).status());
  };
  EXPECT_EQ(message(lines_of(8, "back")), "line: a target of 6 blocks is smaller than a line of 8");
  Hierarchy::Params filtered = lines_of(2, "back");
  filtered.admission = "nth";
  EXPECT_EQ(message(filtered), "line: admission filters need lines of 1 block");
}

}  // namespace
}  // namespace mcsim
