// Trusts: that every allocation may be the one that fails. Each way into core, policies
// and optimizers is taken again and again, with its first allocation failing, its second
// and so on to the last; then with all from that one on. It must come back, and with
// ResourceExhausted. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>

#include "core/base/guarded.hpp"
#include "core/base/threads.hpp"
#include "core/engine/run/run.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/distances/piece_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/estimators/registry.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/locality/profile/profile_file.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_file.hpp"
#include "core/trace/intervals.hpp"
#include "core/trace/synthetic/synthetic.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/miniature.hpp"
#include "policies/replay/simulate.hpp"
#include "tests/support/binary_program_solver.hpp"
#include "tests/support/own_file.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/workloads.hpp"

namespace {

constexpr long kNever = std::numeric_limits<long>::max();

std::atomic<long> allocations_left{kNever};  // of all threads, before one fails
std::atomic<bool> fails_once{true};          // or for ever

bool fails_now() {
  const long left = allocations_left.load(std::memory_order_relaxed);
  if (left == kNever) return false;
  const long before = allocations_left.fetch_sub(1);
  return fails_once ? before == 1 : before <= 1;
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails_now()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kUsual = alignof(std::max_align_t);

// Not inlined: compilers that see free() where memory came from `new` complain.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kUsual);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kUsual);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace mcsim {
namespace {

using testing::random_trace;
using testing::small_machine_for;
using Work = std::function<absl::Status()>;

const bool prepared = (prepare_threads(), true);

// Returns the status of `work` with its n-th allocation failing; sets `failed` if it was reached.
absl::Status with_failing(long n, bool once, const Work& work, bool& failed) {
  fails_once = once;
  allocations_left = n;
  absl::Status status;
  try {
    status = work();
  } catch (...) {
    allocations_left = kNever;
    ADD_FAILURE() << "an exception came through, allocation " << n;
    failed = true;
    return absl::OkStatus();
  }
  failed = allocations_left.exchange(kNever) < 1;
  return status;
}

// Arguments that the caller creates without failures.
template <class Make>
auto unfailing(Make&& make) {
  const long left = allocations_left.exchange(kNever);
  auto made = make();
  allocations_left = left;
  return made;
}

// The first so many are all tried. Fewer where threads are watched, which takes its time and looks
// for races, which any failure on a thread shows.
#if defined(__SANITIZE_THREAD__)
constexpr long kAllTried = 8;
#else
constexpr long kAllTried = 200;
#endif

// Until no allocation fails; after the first ones in growing steps.
void fail_every_allocation(const Work& work, long all_tried = kAllTried) {
  for (const bool once : {true, false}) {
    bool failed = true;
    long n = 1;
    for (; failed; n += 1 + n / all_tried) {
      const absl::Status status = with_failing(n, once, work, failed);
      if (!failed) {
        EXPECT_TRUE(status.ok()) << status;
      } else if (!status.ok()) {
        ASSERT_TRUE(absl::IsResourceExhausted(status)) << "allocation " << n << ": " << status;
      } else {
        // Some are only wishes, such as a sort's buffer: all is well without.
        ASSERT_TRUE(once) << "allocation " << n << " and all after it failed unnoticed";
      }
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(n, 2) << "nothing was allocated";
  }
}

Requests some_requests() {
  Requests requests;
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    requests.push(i, 0, Op::kRead, random.below(100) * 4096, 8192);
  }
  return requests;
}

TEST(FailingAllocations, Interning) {
  const Requests requests = some_requests();
  fail_every_allocation([&]() -> absl::Status {
    AccessBuilder builder({}, TimeBase::kClock);
    for (const char* name : {"a", "b"}) {
      MCSIM_RETURN_IF_ERROR(builder.begin_vm(name));
      MCSIM_RETURN_IF_ERROR(builder.add(requests.view()));
    }
    return std::move(builder).finish().status();
  });
}

TEST(FailingAllocations, InterningIntoAFile) {
  const Requests requests = some_requests();
  const testing::OwnFile interned("accesses");
  const testing::OwnFile copied("copied");
  const std::string& path = interned.path();
  fail_every_allocation([&] {
    // Uses the builder's own name of the file.
    return guarded("builder", [&]() -> absl::Status {
      AccessBuilder builder({}, TimeBase::kClock, AccessBuilder::ToFile{path, 0});
      for (const char* name : {"a", "b"}) {
        MCSIM_RETURN_IF_ERROR(builder.begin_vm(name));
        MCSIM_RETURN_IF_ERROR(builder.add(requests.view()));
      }
      return std::move(builder).finish().status();
    });
  });
  fail_every_allocation([&] { return open_accesses(path).status(); });
  const Accesses trace = open_accesses(path).value();
  fail_every_allocation([&] { return write_accesses(trace, copied.path()); });
  fail_every_allocation([&] { return write_packed_accesses(trace, copied.path()); });
  fail_every_allocation([&] { return open_accesses(copied.path()).status(); });
}

TEST(FailingAllocations, InterningIsOverOnceMemoryRanOut) {
  const Requests requests = some_requests();
  AccessBuilder builder({}, TimeBase::kClock);
  ASSERT_TRUE(builder.begin_vm("a").ok());
  bool failed = false;
  ASSERT_FALSE(with_failing(3, true, [&] { return builder.add(requests.view()); }, failed).ok());
  EXPECT_EQ(message_of(builder.add(requests.view())), "interning: there is not enough memory");
  EXPECT_EQ(message_of(std::move(builder).finish().status()),
            "interning: there is not enough memory");
}

TEST(FailingAllocations, Readers) {
  const testing::OwnFile own("text");
  const std::string& path = own.path();
  for (const std::string& text :
       {std::string("1 1 0 0\n2 1 0 1\n"), std::string("time_ns,vm,offset\n1,a,0\n2,b,0\n"),
        std::string("128166372003061629,web,0,Read,7014609920,24576,41286\n")}) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    fail_every_allocation([&]() -> absl::Status {
      MCSIM_ASSIGN_OR_RETURN(const auto reader, open_trace(path, {}));
      Requests chunk;
      do {
        MCSIM_RETURN_IF_ERROR(reader->next(chunk));
      } while (chunk.size() > 0);
      return absl::OkStatus();
    });
  }
}

TEST(FailingAllocations, Characterising) {
  const Accesses trace = random_trace(2'000, 3, 100, 1);
  const TimerClock clock{.period = 500};
  const std::vector<MeterSpec> specs{
      {clock, CurveMeter{}},
      {clock, CurveMeter{.ops = OpFilter::kReads, .between = Between::kReads}},
      {clock, IntensityMeter{.window = {300}}},
      {clock, DistinctMeter{.window = {1'500}, .reuses = 1}},
      {clock, ClassMeter{}}};
  fail_every_allocation([&] { return characterise(trace, specs, nullptr, 2).status(); });

  const Characterised found = *characterise(trace, specs);
  const testing::OwnFile own("profile");
  const std::string& path = own.path();
  for (const MeterSpec& spec : specs) {
    fail_every_allocation([&] { return write_profile(found, spec, path); });
    fail_every_allocation([&] { return read_profile(trace, spec, path).status(); });
  }
  fail_every_allocation([&] { return write_profile(found, std::nullopt, path); });
  fail_every_allocation([&] { return read_profile(trace, std::nullopt, path).status(); });
  fail_every_allocation([&] { return describe_profile(path).status(); });
  fail_every_allocation(
      [&] { return characterise(trace, specs, nullptr, 2, {&found, 1}).status(); });
}

TEST(FailingAllocations, Distances) {
  std::vector<std::uint64_t> keys(3'000);
  Random random(1);
  for (std::uint64_t& key : keys) key = random.below(500);
  const std::string bytes = analyse(keys).to_bytes();
  fail_every_allocation([&] { return histogram_of(keys).status(); });
  std::vector<BlockId> blocks;
  for (const std::uint64_t key : keys) blocks.emplace_back(key);
  fail_every_allocation([&] { return distances_of_piece(blocks, 900, 2'000, 500).status(); });
  fail_every_allocation([&]() -> absl::Status {
    MCSIM_ASSIGN_OR_RETURN(const PartialDistances one, PartialDistances::from_bytes(bytes));
    return merge(one, one).status();
  });
}

TEST(FailingAllocations, Synthetic) {
  const SyntheticComponent component{
      .name = "a", .model = ZipfModel{.blocks = 50}, .sizes = {{.bytes = 4096}}};
  const SyntheticPhase phase{.duration = kSecond, .requests = 100, .reads = {{.component = "a"}}};
  SyntheticPhase waits = phase;
  waits.requests = 0;
  waits.think = kSecond / 100;
  const SyntheticProfile profile{
      .vms = {{.name = "vm", .components = {component}, .phases = {phase}},
              {.name = "waits",
               .components = {component},
               .phases = {waits},
               .client = SyntheticClient{.cache_blocks = 40, .miss = kSecond / 100}}}};
  fail_every_allocation([&]() -> absl::Status {
    MCSIM_ASSIGN_OR_RETURN(SyntheticTrace trace,
                           SyntheticTrace::make(unfailing([&] { return profile; })));
    Requests chunk;
    return trace.next(1'000, chunk);
  });
}

TEST(FailingAllocations, Estimators) {
  std::vector<std::uint64_t> keys(3'000);
  std::vector<Nanoseconds> times(keys.size());
  std::vector<std::uint8_t> ops(keys.size());
  Random random(1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = random.below(500);
    times[i] = static_cast<Nanoseconds>(i) * kSecond;
  }
  for (const auto& entry : estimator_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    fail_every_allocation([&]() -> absl::Status {
      MCSIM_ASSIGN_OR_RETURN(const auto estimator,
                             estimator_registry().make(entry.info.name, {}, {.threads = 2}));
      MCSIM_RETURN_IF_ERROR(estimator->process({.keys = keys, .times = times, .ops = ops}));
      return estimator->curve().status();
    });
  }
}

TEST(FailingAllocations, Optimizers) {
  const AllocationProblem problem =
      testing::one_tier(6, {{0, 1, 2, 2.5, 2.6}, {0, 3, 3.5, 3.6, 3.7}});
  for (const auto& entry : optimizer_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    ParamMap params;
    if (std::string(entry.info.name).starts_with("annealing")) {
      params = {{"iterations", std::int64_t{20}}};
    }
    const OptimizerContext context{.binary_program_solver = testing::search_binary_program};
    fail_every_allocation([&]() -> absl::Status {
      MCSIM_ASSIGN_OR_RETURN(
          const auto optimizer,
          optimizer_registry().make(entry.info.name, params, unfailing([&] { return context; })));
      return optimizer->solve(problem).status();
    });
  }
}

// Threads that wait for one another must not wait for one that failed.
TEST(FailingAllocations, Simulating) {
  std::vector<BlockId> blocks(2'000);
  Random random(1);
  for (BlockId& block : blocks) block = static_cast<BlockId>(random.below(200));
  std::vector<CacheConfig> configs;
  for (const auto& entry : eviction_policies()) {
    configs.push_back({entry.info.name, {}, 20});
    configs.push_back({entry.info.name, {}, 50});
  }
  fail_every_allocation(
      [&] { return simulate(blocks, {}, 200, configs, {.threads = 2}).status(); });
  const std::vector<CacheConfig> few(configs.begin(), configs.begin() + 4);
  const std::vector<std::uint64_t> seeds{1, 2};
  fail_every_allocation([&] {
    return miniatures(blocks, {}, 200, few,
                      {.rate = 0.5, .min_blocks = 1, .seeds = seeds, .simulate = {.threads = 2}})
        .status();
  });
}

// Runs of systems by name and parameters, on reads and writes of three VMs.
class Runs {
 public:
  absl::Status one(const char* name, const ParamMap& params) const {
    MCSIM_ASSIGN_OR_RETURN(
        const auto system,
        system_registry().make(name, params, unfailing([&] { return context_of(name); })));
    if (const auto found = unfailing([&] { return system->default_optimizer(); })) {
      MCSIM_ASSIGN_OR_RETURN(auto made, optimizers_.make(*found, {}, {}));
      auto optimizer = unfailing([&] { return std::shared_ptr<Optimizer>(std::move(made)); });
      MCSIM_RETURN_IF_ERROR(system->use_optimizer(std::move(optimizer)));
    }
    const auto specs = unfailing([&] { return meter_specs(*system); });
    MCSIM_ASSIGN_OR_RETURN(const Characterised measured, characterise(trace_, specs));
    return run(trace_, *system, measured, cuts_).status();
  }

 private:
  static SystemContext context_of(const char* name) {
    return {.machine = small_machine_for(name), .interval = 500};
  }
  static Accesses reads_and_writes() {
    Accesses trace = random_trace(1'500, 3, 100, 1);
    std::vector<std::uint8_t> ops(trace.request_count(), 0);
    for (std::size_t r = 0; r < ops.size(); r += 3) ops[r] = 1;
    trace.request_op = std::move(ops);
    return trace;
  }

  Accesses trace_ = reads_and_writes();
  Cuts cuts_ = aligned_cuts(trace_.request_time, 500);
  const Registry<Optimizer, OptimizerContext>& optimizers_ = optimizer_registry();
};

TEST(FailingAllocations, Running) {
  const Runs runs;
  for (const auto& entry : system_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    fail_every_allocation([&] { return runs.one(entry.info.name, {}); });
  }
}

// Other values of a parameter than its default, if there are few.
std::vector<ParamValue> others_than_default(const ParamInfo& param) {
  if (param.kind == ParamKind::kBool) return {!std::get<bool>(param.default_value)};
  if (param.name == "writes") return {std::string("back"), std::string("around")};
  std::vector<ParamValue> others;
  for (const std::string& choice : param.choices) {
    if (ParamValue(choice) != param.default_value) others.emplace_back(choice);
  }
  return others;
}

TEST(FailingAllocations, RunningWithOneParameterSet) {
  const Runs runs;
  constexpr long kFew = 30;
  int refused = 0;
  int tried = 0;
  for (const auto& entry : system_registry().entries()) {
    for (const ParamInfo& param : entry.params) {
      for (const ParamValue& value : others_than_default(param)) {
        const ParamMap params{{param.name, value}};
        if (!runs.one(entry.info.name, params).ok()) {  // it needs others, or another trace
          ++refused;
          continue;
        }
        ++tried;
        SCOPED_TRACE(::testing::Message()
                     << entry.info.name << ", " << param.name << ", value " << value.index());
        fail_every_allocation([&] { return runs.one(entry.info.name, params); }, kFew);
      }
    }
  }
  EXPECT_LT(refused, tried / 4) << "or little is tested";
}

}  // namespace
}  // namespace mcsim
