// Trusts: the walk of TieredHost, which defines the semantics and which a host with a log uses.
// Every faster loop has to count the same on random data paths, report the same to a probe, and
// leave the same state: a host with a log that continues from it has the same backend accesses.
#include "core/engine/hosts/kernels/all.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <absl/strings/str_join.h>

#include "core/engine/hosts/kernels/copy_chain.hpp"
#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "policies/hosts/admission_registry.hpp"
#include "policies/hosts/data_path.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/states.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::expect_same;

bool is_drawn(Random& random, std::uint64_t one_in) { return random.below(one_in) == 0; }

template <class E>
E choice(Random& random) {
  const auto& names = Choices<E>::names;
  return names[random.below(names.size())].second;
}

// A name of the registry. Epochs and samples are small enough for these traces.
std::string entry_of(const auto& registry, Random& random) {
  const auto& entries = registry.entries();
  const auto& entry = entries[random.below(entries.size())];
  std::vector<std::string> given;
  for (const ParamInfo& param : entry.params) {
    if (param.name == "epoch") given.push_back(fmt::format("epoch={}", 20 + random.below(200)));
    if (param.name == "sample") given.push_back("sample=64");
  }
  return fmt::format("{}({})", entry.info.name, absl::StrJoin(given, ","));
}

// A text for each tier, or one for all of them.
template <class Draw>
std::string by_tier(std::size_t tiers, Random& random, Draw draw) {
  std::vector<std::string> texts(is_drawn(random, 2) ? 1 : tiers);
  for (std::string& text : texts) text = draw();
  return absl::StrJoin(texts, " / ");
}

// Draws the parameters of a data path. Most are those by default.
class ParamDraw {
 public:
  ParamDraw(std::size_t tiers, Random& random)
      : tiers_(tiers), random_(random), one_in_(2 + random.below(3)) {}

  DataPathParams params() {
    DataPathParams params;
    std::apply([&](const auto&... field) { (draw(field, params), ...); }, DataPathParams::fields());
    return params;
  }

 private:
  void draw(const auto& field, DataPathParams& params) {
    if (is_drawn(random_, one_in_)) set(field, params.*field.member);
  }
  void set(const auto&, bool& value) { value = !value; }
  void set(const auto& field, double& value) {
    value = field.min + random_.uniform() * (field.max - field.min);
  }
  void set(const auto&, Duration& value) { value.ns = 1 + random_.below(2'000); }
  template <class E>
    requires std::is_enum_v<E>
  void set(const auto&, E& value) {
    value = choice<E>(random_);
  }
  void set(const auto& field, std::string& value) {
    const std::string_view name = field.name;
    if (name == "policy") {
      value = by_tier(tiers_, random_, [&] { return entry_of(eviction_registry(), random_); });
    } else if (name == "admission") {
      value = by_tier(tiers_, random_, [&] { return entry_of(admission_registry(), random_); });
    } else if (name == "writes") {
      const auto mode = [&] { return std::string(name_of(choice<WriteMode>(random_))); };
      value = by_tier(tiers_, random_, mode) + ", vm0=" + by_tier(tiers_, random_, mode);
    } else if (name != "prefetch") {  // prefetching tiers have no kernels
      ADD_FAILURE() << name << ": a text that the test cannot draw";
    }
  }

  std::size_t tiers_;
  Random& random_;
  std::uint64_t one_in_;
};

// Requests of up to six blocks, with discards every other time.
Accesses trace_of(Random& random, std::uint32_t line_blocks) {
  const bool discards = is_drawn(random, 2);
  std::vector<Requests> of_vms(1 + random.below(4));
  for (Requests& requests : of_vms) {
    for (Nanoseconds time = 0; time < 900; time += static_cast<Nanoseconds>(random.below(5))) {
      const std::uint64_t block = random.below(random.below(2) == 0 ? 12 : 70);
      const auto blocks = static_cast<std::uint32_t>(1 + random.below(6));
      Op op = is_drawn(random, 2) ? Op::kWrite : Op::kRead;
      if (discards && is_drawn(random, 50)) op = Op::kDiscard;
      requests.push(time, 0, op, block * 4096 + random.below(4096), 4096 * blocks - 4000);
    }
  }
  return testing::interned(
      of_vms,
      {.ops = OpFilter::kAll, .line_blocks = line_blocks, .bytes = true, .addresses = true});
}

Machine machine_of(std::size_t tiers, Random& random) {
  std::vector<Count> capacities(tiers);
  for (Count& blocks : capacities) blocks = is_drawn(random, 9) ? 0 : 4 + random.below(60);
  return testing::machine_of(capacities);
}

// Lines of several blocks are in one part.
Division division_of(const Machine& machine, const Accesses& trace, Random& random) {
  const std::size_t vms = trace.vms.size();
  if (is_drawn(random, 3) || trace.line_blocks > 1) return shared_by_all(machine, trace);
  const DivisionRules rules{choice<ResizeMode>(random), choice<VictimRule>(random)};
  if (is_drawn(random, 2)) {
    return one_part_each(testing::random_targets(machine, vms, random), rules);
  }
  const std::size_t groups = 1 + random.below(vms);
  Division division = one_part_each(testing::random_targets(machine, groups, random), rules);
  division.changeable = false;
  division.part_of.clear();
  for (std::size_t vm = 0; vm < vms; ++vm) division.part_of.push_back(vm * groups / vms);
  return division;
}

// A host with what observes it.
struct Observed {
  explicit Observed(const Accesses& trace) : probe(trace) {}

  std::unique_ptr<Host> host;
  CacheProbe probe;
  BackendLog log;
};

class RandomPath {
 public:
  explicit RandomPath(std::uint64_t seed)
      : random_(seed),
        trace_(trace_of(random_, is_drawn(random_, 8) ? 4 : 1)),
        machine_(machine_of(1 + random_.below(kMostLruTiers + 1), random_)),
        params_(ParamDraw(machine_.tiers.size(), random_).params()),
        division_(division_of(machine_, trace_, random_)),
        has_probe_(is_drawn(random_, 2)),
        fast_(trace_),
        logged_(trace_),
        walk_(trace_) {}

  // Return false if there is no such path.
  bool make() {
    return make(fast_, make_data_path, false) && make(logged_, make_data_path, true) &&
           make(walk_, make_tiered_host, true);
  }

  // Replay the trace on all hosts, and add the loops that replayed it to `reached`.
  void expect_same_everywhere(std::set<std::string>& reached) {
    SCOPED_TRACE(description());
    std::size_t discarded = 0;
    for (RequestRange range; range.begin < trace_.request_count(); range.begin = range.end) {
      SCOPED_TRACE(fmt::format("requests from {} on", range.begin));
      decide();
      discard(range.begin, discarded);
      range.end = end_of_range(range.begin, discarded);
      fast_.host->replay(trace_, range);
      replay_singly(logged_, range);
      replay_singly(walk_, range);
      reached.insert(loop_of(*fast_.host));
      expect_same_now();
      if (::testing::Test::HasFailure()) return;
      if (is_drawn(random_, 3)) continue_with_log();
    }
    for (VmId vm = 0; vm < trace_.vms.size(); ++vm) {
      for (Observed* of : {&fast_, &logged_, &walk_}) of->host->release(vm);
    }
    expect_same_now();
  }

 private:
  using Make = decltype(make_data_path);

  bool make(Observed& of, Make make_host, bool has_log) {
    auto host = make_host(params_, machine_, trace_, division_, 1);
    if (!host.ok()) return false;
    of.host = *std::move(host);
    const absl::Status attached = of.host->attach(
        {.probe = has_probe_ ? &of.probe : nullptr, .log = has_log ? &of.log : nullptr});
    EXPECT_TRUE(attached.ok()) << attached;
    return true;
  }

  std::string description() const {
    std::vector<Count> capacities;
    for (const TierSpec& tier : machine_.tiers) capacities.push_back(tier.capacity_blocks);
    return fmt::format(
        "{} blocks, {}, {}, {} with {}, admission {}, update_around {}, dirty_limit {}, "
        "flush_every {}, {} VMs in {} parts{}, line {}",
        absl::StrJoin(capacities, " / "), name_of(params_.chain), params_.policy, params_.writes,
        name_of(division_.rules.mode), params_.admission, params_.update_around,
        params_.dirty_limit, params_.flush_every.ns, trace_.vms.size(), division_.targets[0].size(),
        division_.changeable ? "" : " of fixed size", trace_.line_blocks);
  }

  void decide() {
    const std::uint64_t decision = random_();
    for (Observed* of : {&fast_, &logged_, &walk_}) {
      decide_at_random(*of->host, machine_, trace_, division_.changeable, decision);
    }
    if (!is_drawn(random_, 3)) return;
    for (Observed* of : {&fast_, &logged_, &walk_}) of->probe.begin_window();
  }

  void discard(std::size_t before, std::size_t& discarded) {
    std::vector<BlockId> blocks;
    for (; discarded < trace_.discards.size() && trace_.discards[discarded].request <= before;
         ++discarded) {
      blocks.push_back(trace_.discards[discarded].block);
    }
    for (Observed* of : {&fast_, &logged_, &walk_}) of->host->discard(blocks);
  }

  std::size_t end_of_range(std::size_t begin, std::size_t discarded) {
    std::size_t end = begin + 1 + random_.below(is_drawn(random_, 2) ? 60 : trace_.request_count());
    if (discarded < trace_.discards.size()) end = std::min(end, trace_.discards[discarded].request);
    return std::min(end, trace_.request_count());
  }

  void replay_singly(Observed& of, RequestRange range) const {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      of.log.begin_request(r);
      of.host->replay(trace_, {r, r + 1});
    }
  }

  void expect_same_now() {
    for (Observed* of : {&fast_, &logged_}) {
      SCOPED_TRACE(of == &logged_ ? "with a log" : "without a log");
      expect_same(of->host->counters(), walk_.host->counters());
      if (has_probe_) expect_same(of->probe, walk_.probe);
      EXPECT_TRUE(of->host->check_invariants().ok()) << of->host->check_invariants();
    }
    EXPECT_EQ(events(logged_), events(walk_));
  }

  using Event = std::tuple<std::uint64_t, BlockId, Op>;

  // Return the backend accesses since the last call.
  static std::vector<Event> events(Observed& of) {
    std::vector<Event> events;
    for (const auto& [request, block, op] : of.log.take()) events.emplace_back(request, block, op);
    return events;
  }

  // Replace the host with a log by one that continues from the state of the fast one.
  void continue_with_log() {
    ArchiveWriter state;
    if (!fast_.host->save(state).ok()) return;
    make(logged_, make_data_path, true);
    const absl::Status loaded = testing::load(*logged_.host, state.bytes());
    EXPECT_TRUE(loaded.ok()) << loaded;
  }

  static std::string loop_of(const Host& host) {
    const auto* const tiered = dynamic_cast<const TieredHost*>(&host);
    const std::string_view loop = tiered == nullptr ? "exclusive-lru" : tiered->last_loop();
    return fmt::format("{} of {} tiers", loop, host.counters()[0].tiers.size());
  }

  Random random_;
  Accesses trace_;
  Machine machine_;
  DataPathParams params_;
  Division division_;
  bool has_probe_;
  Observed fast_;    // as systems use it
  Observed logged_;  // the same with a log
  Observed walk_;
};

std::set<std::string> all_loops() {
  std::set<std::string> all;
  const auto add = [&](std::string_view loop, std::size_t least, std::size_t most) {
    for (std::size_t k = least; k <= most; ++k) all.insert(fmt::format("{} of {} tiers", loop, k));
  };
  add(TieredHost::kWalk, 1, kMostLruTiers + 1);
  for (const KernelType& type : kernel_types()) {
    const bool copies = type.name == "copy-chain";
    add(type.name, copies ? CopyChain::kLeastTiers : 1,
        copies ? CopyChain::kMostTiers : kMostLruTiers + 1);
  }
  add("exclusive-lru", 1, kMostLruTiers);
  return all;
}

TEST(Kernels, LeaveWhatTheWalkLeavesOnRandomDataPaths) {
  constexpr std::uint64_t kPaths = 1'000;
  std::set<std::string> reached;
  std::uint64_t made = 0;
  for (std::uint64_t seed = 0; seed < kPaths; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomPath path(seed);
    if (!path.make()) continue;
    ++made;
    path.expect_same_everywhere(reached);
    if (HasFailure()) return;
  }
  EXPECT_EQ(reached, all_loops());
  EXPECT_GT(made, kPaths / 3);
}

}  // namespace
}  // namespace mcsim
