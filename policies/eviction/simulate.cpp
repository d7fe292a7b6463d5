#include "policies/eviction/simulate.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/engine/next_use.hpp"
#include "policies/eviction/registry.hpp"

namespace mcsim {
namespace {

// Between two pieces the tick is told.
constexpr std::size_t kPiece = std::size_t{1} << 20;

// More than ids can tell apart, and few enough that multiples do not overflow.
constexpr Count kMostBlocks = Count{1} << 40;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Simulation {
 public:
  Simulation(const AccessBatch<>& trace, std::size_t unique, std::span<const CacheConfig> configs,
             const SimulateOptions& options)
      : trace_(trace),
        unique_(unique),
        configs_(configs),
        options_(options),
        results_(configs.size()) {}

  absl::StatusOr<std::vector<SimulatedCache>> run() {
    const int threads = std::min(options_.threads, static_cast<int>(configs_.size()));
    tbb::task_arena arena(std::max(threads, 1));
    arena.execute([&] {
      tbb::parallel_for(0, threads, [&](int) { take_turns(); }, tbb::simple_partitioner());
    });
    if (!failure_.ok()) return failure_;
    return std::move(results_);
  }

 private:
  // Takes the next cache as long as there is one.
  void take_turns() {
    for (std::size_t i = next_++; i < configs_.size() && !stopped_; i = next_++) {
      ++at_work_;
      if (const absl::Status status = replay(i); !status.ok()) fail(status);
      --at_work_;
      finished_.notify_all();
    }
    if (is_caller()) await_others();
  }

  // The thread that asked has nothing left to do but to tell what the others have done.
  void await_others() {
    constexpr auto kBetweenTicks = std::chrono::milliseconds(100);
    while (at_work_ > 0) {
      std::unique_lock lock(mutex_);
      finished_.wait_for(lock, kBetweenTicks, [&] { return at_work_ == 0; });
      lock.unlock();
      if (const absl::Status status = tell(0); !status.ok()) fail(status);
    }
  }

  bool is_caller() const { return std::this_thread::get_id() == caller_; }

  absl::Status replay(std::size_t i) {
    const CacheConfig& config = configs_[i];
    const PolicySetup setup{.capacity = config.capacity,
                            .blocks = unique_,
                            .seed = config.seed,
                            .trace = trace_.blocks};
    MCSIM_ASSIGN_OR_RETURN(const auto cache,
                           eviction_registry().make(config.policy, config.params, setup));
    double seconds = 0;
    for (std::size_t begin = 0; begin < trace_.blocks.size() && !stopped_; begin += kPiece) {
      const std::size_t count = std::min(kPiece, trace_.blocks.size() - begin);
      const auto part = [&](auto column) {
        return column.empty() ? column : column.subspan(begin, count);
      };
      const double start = cpu_seconds();
      MCSIM_RETURN_IF_ERROR(cache->replay({.blocks = part(trace_.blocks),
                                           .ops = part(trace_.ops),
                                           .next_uses = part(trace_.next_uses)}));
      seconds += cpu_seconds() - start;
      MCSIM_RETURN_IF_ERROR(tell(count));
    }
    results_[i] = {.counts = cache->counts(), .bytes = cache->bytes(), .seconds = seconds};
    const absl::Status checked = cache->check();
    if (checked.ok()) return checked;
    return internal_error("{}: {}", config.policy, message_of(checked));
  }

  absl::Status tell(std::size_t count) {
    done_ += static_cast<Count>(count);
    if (!options_.tick || !is_caller()) return absl::OkStatus();
    return options_.tick(done_);
  }

  void fail(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    failure_.Update(status);
    stopped_ = true;
  }

  const AccessBatch<>& trace_;
  std::size_t unique_;
  std::span<const CacheConfig> configs_;
  const SimulateOptions& options_;
  std::vector<SimulatedCache> results_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::atomic<Count> done_ = 0;
  std::atomic<int> at_work_ = 0;
  std::condition_variable finished_;
  std::thread::id caller_ = std::this_thread::get_id();
  absl::Status failure_;
};

// Whether any of the caches needs the next use.
absl::StatusOr<bool> check_configs(std::span<const CacheConfig> configs) {
  bool needs_next_use = false;
  for (const CacheConfig& config : configs) {
    if (config.capacity < 1 || config.capacity > kMostBlocks) {
      return invalid_argument("{}: a cache of {} blocks: expected 1 to {}", config.policy,
                              config.capacity, kMostBlocks);
    }
    const PolicySetup smallest{.capacity = 1, .blocks = 1};
    MCSIM_ASSIGN_OR_RETURN(const auto cache,
                           eviction_registry().make(config.policy, config.params, smallest));
    needs_next_use |= cache->needs_next_use();
  }
  return needs_next_use;
}

}  // namespace

absl::StatusOr<std::vector<SimulatedCache>> simulate(std::span<const BlockId> blocks,
                                                     std::span<const std::uint8_t> ops,
                                                     std::size_t unique,
                                                     std::span<const CacheConfig> configs,
                                                     const SimulateOptions& options) {
  MCSIM_ASSIGN_OR_RETURN(const bool needs_next_use, check_configs(configs));
  if (!blocks.empty() && std::ranges::max(blocks) >= unique) {
    return invalid_argument("block {} of a trace of {}", std::ranges::max(blocks), unique);
  }
  Pages<NextUse> uses;
  if (needs_next_use) {
    MCSIM_ASSIGN_OR_RETURN(uses, next_uses(blocks, unique));
  }
  const AccessBatch<> trace{.blocks = blocks, .ops = ops, .next_uses = {uses.data(), uses.size()}};
  return Simulation(trace, unique, configs, options).run();
}

}  // namespace mcsim
