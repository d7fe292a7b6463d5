// Trusts: what was called of the caches of tiers, access by access, and lists of what they hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/exclusive_lru.hpp"
#include "core/engine/host_meters.hpp"
#include "core/engine/tiered_host.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_trace;
using testing::with_writes;

constexpr Count kGhosts = 7;
constexpr Count kTail = 4;
constexpr std::size_t kTiers = 3;

enum class Call : std::uint8_t { kTouched, kTaken, kInserted, kVictim };

struct Event {
  std::size_t tier;
  std::size_t vm;
  Call call;
  BlockId block;
};
using Log = std::vector<Event>;

// A cache that writes down what is done to it.
class LoggedCache final : public TierCache {
 public:
  LoggedCache(std::unique_ptr<TierCache> cache, std::size_t tier, std::size_t vm, Log& log)
      : cache_(std::move(cache)), tier_(tier), vm_(vm), log_(log) {}

  absl::Status replay(const AccessBatch<>& batch) override { return cache_->replay(batch); }
  bool touch(const Access<>& a) override {
    const bool held = cache_->touch(a);
    if (held) note(Call::kTouched, a.block);
    return held;
  }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    note(Call::kInserted, a.block);
    const std::size_t before = victims.size();
    cache_->insert(a, victims);
    for (std::size_t i = before; i < victims.size(); ++i) note(Call::kVictim, victims[i]);
  }
  bool take(BlockId block) override {
    const bool held = cache_->take(block);
    if (held) note(Call::kTaken, block);
    return held;
  }
  void resize(Count capacity, std::vector<BlockId>& victims) override {
    const std::size_t before = victims.size();
    cache_->resize(capacity, victims);
    for (std::size_t i = before; i < victims.size(); ++i) note(Call::kVictim, victims[i]);
  }
  bool admits(const Access<>& a) override { return cache_->admits(a); }
  bool selective() const override { return cache_->selective(); }
  absl::Status failure() const override { return cache_->failure(); }
  bool contains(BlockId block) const override { return cache_->contains(block); }
  Count size() const override { return cache_->size(); }
  Count capacity() const override { return cache_->capacity(); }
  std::size_t bytes() const override { return cache_->bytes(); }
  bool needs_next_use() const override { return cache_->needs_next_use(); }
  absl::Status check() const override { return cache_->check(); }

 private:
  void note(Call call, BlockId block) { log_.push_back({tier_, vm_, call, block}); }

  std::unique_ptr<TierCache> cache_;
  std::size_t tier_;
  std::size_t vm_;
  Log& log_;
};

// What a VM has in one cache, as a list by last use.
class NaiveMeter {
 public:
  void ask(BlockId block, bool hit) {
    if (hit) {
      hit_.insert(block);
      const auto held = std::ranges::find(blocks_, block);
      ASSERT_NE(held, blocks_.end());
      reading_.tail_hits += std::distance(held, blocks_.end()) <= kTail ? 1 : 0;
      return use(block);
    }
    const auto last = std::ranges::find(evicted_.rbegin(), evicted_.rend(), block);
    if (last != evicted_.rend() && last - evicted_.rbegin() < kGhosts) ++reading_.ghost_hits;
    std::ranges::replace(evicted_, block, kNoBlock);
  }
  void use(BlockId block) {
    std::erase(blocks_, block);
    blocks_.push_front(block);
    used_.insert(block);
    std::ranges::replace(evicted_, block, kNoBlock);
  }
  void leave(BlockId block) {
    ASSERT_EQ(std::erase(blocks_, block), 1U);
    used_.erase(block);
  }
  void evict(BlockId block) {
    leave(block);
    evicted_.push_back(block);
  }
  void rest() { peak_ = std::max(peak_, held()); }

  HostReading read() {
    HostReading reading = std::exchange(reading_, {});
    reading.distinct_hits = static_cast<Count>(std::exchange(hit_, {}).size());
    reading.touched = static_cast<Count>(std::exchange(used_, {}).size());
    reading.peak = std::exchange(peak_, held());
    return reading;
  }
  Count held() const { return static_cast<Count>(blocks_.size()); }
  bool holds(BlockId block) const { return std::ranges::find(blocks_, block) != blocks_.end(); }

 private:
  std::list<BlockId> blocks_;
  std::vector<BlockId> evicted_;  // in order; kNoBlock where it came back
  std::set<BlockId> hit_;
  std::set<BlockId> used_;
  Count peak_ = 0;
  HostReading reading_;
};

// An access, and for a write what becomes of it in each tier.
struct Asked {
  std::size_t vm;
  BlockId block;
  std::vector<WriteMode> modes = {};  // by tier; none: a read
  bool updates = false;               // what is written around
};

// Of every tier and of all as one cache, the last.
class NaiveMeters {
 public:
  explicit NaiveMeters(std::size_t vms) : meters_(kTiers + 1, std::vector<NaiveMeter>(vms)) {}

  void tell_access(const Log& log, const Asked& access) {
    const bool asks = ask_tiers(access, log);
    const bool held = at(kTiers, access.vm).holds(access.block);
    const auto [came_in, touched] = done_to(access.block, log);
    const bool only_left = !access.modes.empty() && held && !came_in && !touched;
    if (asks && !only_left) at(kTiers, access.vm).ask(access.block, held);
    tell_tiers(log);
    if (came_in && !held) at(kTiers, access.vm).use(access.block);
    tell_all(log, only_left);
    rest();
  }
  // What was done for targets or modes.
  void tell(const Log& log) {
    tell_tiers(log);
    tell_all(log, false);
    rest();
  }
  NaiveMeter& at(std::size_t tier, std::size_t vm) { return meters_[tier][vm]; }

 private:
  // Tiers are asked from the fastest on, until one has the block. Those that are written around
  // are not: but for the fastest copy, if that is updated. Below what is dirty from now on an old
  // copy ends the search as well. False if none is asked.
  bool ask_tiers(const Asked& access, const Log& log) {
    const std::size_t held = fastest_with(access.vm, access.block);
    bool dirty = false;
    bool asks = false;
    for (std::size_t k = 0; k < kTiers; ++k) {
      const bool has = at(k, access.vm).holds(access.block);
      const WriteMode mode = access.modes.empty() ? WriteMode::kThrough : access.modes[k];
      if (mode == WriteMode::kAround) {
        const bool updated = k == held && access.updates && !ended_above(k, access, log);
        if (updated) at(k, access.vm).ask(access.block, true);
        asks = asks || updated;
        if (has && dirty) break;
        continue;
      }
      at(k, access.vm).ask(access.block, has);
      asks = true;
      if (has) break;
      dirty = dirty || mode == WriteMode::kBack;
    }
    return asks;
  }
  // Whether the write got no further than to a faster tier that writes back.
  static bool ended_above(std::size_t tier, const Asked& access, const Log& log) {
    return std::ranges::any_of(log, [&](const Event& e) {
      return e.tier < tier && e.block == access.block && access.modes[e.tier] == WriteMode::kBack &&
             (e.call == Call::kTouched || e.call == Call::kInserted);
    });
  }
  static std::pair<bool, bool> done_to(BlockId block, const Log& log) {
    const auto any = [&](Call call) {
      return std::ranges::any_of(
          log, [&](const Event& e) { return e.block == block && e.call == call; });
    };
    return {any(Call::kInserted), any(Call::kTouched)};
  }
  std::size_t fastest_with(std::size_t vm, BlockId block) {
    std::size_t k = 0;
    while (k < kTiers && !at(k, vm).holds(block)) ++k;
    return k;
  }
  void tell_tiers(const Log& log) {
    for (const Event& e : log) {
      NaiveMeter& meter = at(e.tier, e.vm);
      if (e.call == Call::kInserted || e.call == Call::kTouched) meter.use(e.block);
      if (e.call == Call::kTaken) meter.leave(e.block);
      if (e.call == Call::kVictim) meter.evict(e.block);
    }
  }
  // What no tier holds any more left, in the order of its last departures.
  void tell_all(const Log& log, bool only_left) {
    std::map<BlockId, std::size_t> gone;
    for (std::size_t i = 0; i < log.size(); ++i) {
      const bool went = log[i].call == Call::kVictim ||
                        (log[i].call == Call::kTaken && !gone.contains(log[i].block));
      if (went) gone[log[i].block] = i;
    }
    for (std::size_t i = 0; i < log.size(); ++i) {
      const Event& e = log[i];
      const auto last = gone.find(e.block);
      if (last == gone.end() || last->second != i) continue;
      if (fastest_with(e.vm, e.block) < kTiers || !at(kTiers, e.vm).holds(e.block)) continue;
      only_left ? at(kTiers, e.vm).leave(e.block) : at(kTiers, e.vm).evict(e.block);
    }
  }
  void rest() {
    for (std::vector<NaiveMeter>& tier : meters_) {
      for (NaiveMeter& meter : tier) meter.rest();
    }
  }

  std::vector<std::vector<NaiveMeter>> meters_;
};

// At least two blocks of each tier for each VM.
Allocation random_targets(Random& random, const Machine& machine, std::size_t vms) {
  Allocation targets(kTiers, vms);
  for (std::size_t k = 0; k < kTiers; ++k) {
    const Count most = machine.tiers[k].capacity_blocks / static_cast<Count>(vms);
    for (std::size_t vm = 0; vm < vms; ++vm) {
      targets.at(k, vm) =
          2 + static_cast<Count>(random.below(static_cast<std::uint64_t>(most - 1)));
    }
  }
  return targets;
}

TieredSetup logged_setup(const std::string& policy, const Machine& machine, const Accesses& trace,
                         const Allocation& targets, DivisionRules rules, Log& log) {
  TieredSetup setup;
  setup.table = std::make_shared<SlotTable>(trace.id_count(), kTiers);
  setup.changeable = true;
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) setup.part_of.push_back(vm);
  for (std::size_t k = 0; k < kTiers; ++k) {
    std::vector<Tier::Part> parts;
    const Count capacity = machine.tiers[k].capacity_blocks;
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      const PolicySetup of{.capacity = capacity,
                           .blocks = static_cast<std::size_t>(trace.vms[vm].unique_blocks),
                           .first_block = trace.vms[vm].first_id,
                           .table = setup.table,
                           .column = k,
                           .seed = 7 + k,
                           .trace = trace.ids};
      auto cache = eviction_registry().make(policy, {}, of).value();
      parts.push_back({.cache = std::make_unique<LoggedCache>(std::move(cache), k, vm, log),
                       .target = targets.at(k, vm)});
    }
    setup.tiers.push_back(Tier(capacity, std::move(parts), rules, nullptr));
  }
  return setup;
}

void expect_equal(HostMeters& meters, NaiveMeters& naive, std::size_t vms) {
  const HostMeters::ByTier tiers = meters.readings_by_tier();
  ASSERT_EQ(tiers.size(), meters.by_tier() ? kTiers : 0);
  ASSERT_EQ(meters.readings().size(), meters.by_tier() ? 0 : vms);
  for (std::size_t vm = 0; vm < vms; ++vm) {
    const HostReading all = naive.at(kTiers, vm).read();
    if (!meters.by_tier()) {
      EXPECT_EQ(meters.readings()[vm], all) << "all, VM " << vm;
    }
    for (std::size_t k = 0; k < kTiers; ++k) {
      const HostReading wanted = naive.at(k, vm).read();
      if (meters.by_tier()) {
        EXPECT_EQ(tiers[k][vm], wanted) << "tier " << k << ", VM " << vm;
      }
    }
  }
  meters.begin_window();
}

void expect_as_logged(const std::string& policy, Chain chain, MeteredBy by, std::uint64_t seed) {
  Random random(seed);
  const auto vms = static_cast<VmId>(1 + seed % 3);
  const Accesses trace = with_writes(random_trace(900, vms, 60, seed), seed, 0.25);
  const Machine machine = machine_of({12, 18, 30});
  Log log;
  const bool by_tier = chain != Chain::kExclusive && seed % 2 == 1;
  ModesByTier modes(kTiers, std::vector<WriteMode>(vms, WriteMode::kThrough));
  for (std::vector<WriteMode>& of_tier : modes) of_tier[0] = WriteMode::kAround;
  const DivisionRules rules{.mode = seed % 2 == 0 ? ResizeMode::kLazy : ResizeMode::kEager};
  TieredSetup setup =
      logged_setup(policy, machine, trace, random_targets(random, machine, vms), rules, log);
  setup.chain = chain;
  setup.writes.modes.assign(vms, WriteMode::kThrough);
  setup.writes.modes[0] = WriteMode::kAround;
  const bool updates = seed % 4 < 2;
  setup.writes.update_around = updates;
  const auto host = TieredHost::make(std::move(setup), trace);
  ASSERT_TRUE(host.ok()) << host.status();
  HostMeters meters(trace, {.ghosts = kGhosts, .tail = kTail, .by = by}, kTiers);
  ASSERT_TRUE((*host)->attach(meters).ok());
  NaiveMeters naive(vms);
  log.clear();
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    (*host)->replay(trace, {r, r + 1});
    Asked access{.vm = trace.request_vm[r], .block = trace.blocks_of(r)[0]};
    if (trace.request_op[r] != 0) {
      for (const std::vector<WriteMode>& of_tier : modes) {
        access.modes.push_back(of_tier[access.vm]);
      }
      access.updates = updates;
    }
    naive.tell_access(log, access);
    log.clear();
    if (r % 150 != 149) continue;
    expect_equal(meters, naive, vms);
    ASSERT_TRUE((*host)->resize(random_targets(random, machine, vms)).ok());
    naive.tell(log);
    log.clear();
    if (!by_tier) continue;
    modes = testing::random_modes_by_tier(**host, kTiers, vms, random);
    ASSERT_TRUE((*host)->set_write_modes_by_tier(modes).ok());
    naive.tell(log);
    log.clear();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(TierMeters, AreThoseOfWhatWasDoneToEveryTierUnderAnyPolicyInAnyChain) {
  for (const auto& entry : eviction_registry().entries()) {
    for (const auto& [name, chain] : Choices<Chain>::names) {
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        for (const auto& [cache, by] : Choices<MeteredBy>::names) {
          SCOPED_TRACE(fmt::format("{}, {}, by {}, seed {}", entry.info.name, name, cache, seed));
          expect_as_logged(entry.info.name, chain, by, seed);
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

// Also of parts without room, which pass on what comes in.
TEST(TierMeters, AreTheSameByTheLruStructureAndByTiers) {
  for (const ResizeMode mode : {ResizeMode::kEager, ResizeMode::kLazy, ResizeMode::kStrictOwn}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(fmt::format("mode {}, seed {}", static_cast<int>(mode), seed));
      Random random(seed);
      const auto vms = static_cast<VmId>(1 + seed % 3);
      const Accesses trace = with_writes(random_trace(3'000, vms, 120, seed), seed, 0.25);
      const Machine machine = machine_of({12, 20, 40});
      const auto targets = [&] {
        std::vector<double> weights(vms);
        for (double& weight : weights) weight = static_cast<double>(random.below(4));
        return proportional(machine, weights);
      };
      DataPathParams params;
      params.writes = "through, " + trace.vms[0].name + "=around";
      const Division division = one_part_each(targets(), {.mode = mode});
      const auto fast = make_data_path(params, machine, trace, division, 1);
      const auto tiered = make_tiered_host(params, machine, trace, division, 1);
      ASSERT_TRUE(fast.ok() && tiered.ok()) << fast.status() << tiered.status();
      const HostMeterSpec spec{.ghosts = kGhosts, .tail = kTail, .by = MeteredBy::kTier};
      HostMeters of_fast(trace, spec, kTiers);
      HostMeters of_tiered(trace, spec, kTiers);
      ASSERT_TRUE((*fast)->attach(of_fast).ok() && (*tiered)->attach(of_tiered).ok());
      for (std::size_t r = 0; r < trace.request_count(); r += 100) {
        (*fast)->replay(trace, {r, r + 100});
        (*tiered)->replay(trace, {r, r + 100});
        SCOPED_TRACE(fmt::format("request {}", r));
        testing::expect_same(of_fast, of_tiered);
        if (HasFatalFailure()) return;
        of_fast.begin_window();
        of_tiered.begin_window();
        const Allocation next = targets();
        ASSERT_TRUE((*fast)->resize(next).ok() && (*tiered)->resize(next).ok());
      }
    }
  }
}

// Most is held before a write around takes a block out again.
TEST(TierMeters, SeeThePeakThatIsOverWithTheNextAccess) {
  Accesses trace = testing::single_vm({1, 2, 3, 3});
  trace.request_op = std::vector<std::uint8_t>{0, 0, 0, 1};
  DataPathParams params;
  params.writes = "around";
  const Machine machine = machine_of({10, 10});
  const Division division =
      one_part_each(proportional(machine, std::vector<double>{1.0}), {.mode = ResizeMode::kEager});
  const auto fast = make_data_path(params, machine, trace, division, 1);
  const auto tiered = make_tiered_host(params, machine, trace, division, 1);
  ASSERT_TRUE(fast.ok() && tiered.ok());
  for (Host* host : {fast->get(), tiered->get()}) {
    HostMeters meters(trace, {.by = MeteredBy::kTier}, 2);
    ASSERT_TRUE(host->attach(meters).ok());
    host->replay(trace, trace.all());
    EXPECT_EQ(meters.readings_by_tier()[0][0].peak, 3);
    EXPECT_EQ(meters.readings_by_tier()[1][0].peak, 0);
  }
}

}  // namespace
}  // namespace mcsim
