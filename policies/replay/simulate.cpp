#include "policies/replay/simulate.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/cpu_clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/engine/caches/sub_blocks.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/registry/weighing.hpp"
#include "policies/replay/all_sizes.hpp"
#include "policies/replay/speed_estimate.hpp"

namespace mcsim {
namespace {

// Accesses between two calls of the tick.
constexpr std::size_t kPiece = std::size_t{1} << 20;

// Assumed CPU seconds per access of policies that are not in the registry: Python's are slow.
constexpr double kSpeedElsewhere = 1e-6;

// An upper limit of capacities: above all block ids, and small enough that multiples do not
// overflow.
constexpr Count kMostBlocks = Count{1} << 40;
constexpr Count kMostBytes = Count{1} << 52;

absl::StatusOr<std::unique_ptr<TierCache>> make_cache(const CacheConfig& config,
                                                      const PolicySetup& setup,
                                                      bool weighs = false) {
  if (weighs) {
    if (!config.make && weighing_registry().find(config.policy).ok()) {
      return weighing_registry().make(config.policy, config.params, setup);
    }
    std::string known;
    for (const auto& entry : weighing_registry().entries()) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.info.name);
    }
    const char* also = config.policy == "opt" ? "; pfoo bounds the hits of all" : "";
    return invalid_argument("{}: it has no rule for objects of different sizes; these have: {}{}",
                            config.policy, known, also);
  }
  if (config.make) return config.make(setup);
  return eviction_registry().make(config.policy, config.params, setup);
}

absl::StatusOr<std::unique_ptr<TierCache>> make_cache(const CacheConfig& config,
                                                      const SharedTrace& trace) {
  const PolicySetup setup{.capacity = config.capacity,
                          .blocks = trace.unique,
                          .seed = config.seed,
                          .trace = trace.accesses.blocks};
  if (trace.line_blocks == 1) return make_cache(config, setup, !trace.accesses.weights.empty());
  return make_sub_block_cache(
      [&](const PolicySetup& of_lines) { return make_cache(config, of_lines); }, setup,
      trace.line_blocks);
}

// The work of one thread at a time: a cache, or several caches of a one-pass run.
struct Task {
  const SharedTrace* trace = nullptr;
  std::vector<std::size_t> configs = {};
  bool one_pass = false;
  std::size_t bytes = 0;
};

// Group the caches into tasks. Caches of one policy and trace form a one-pass task if there are
// enough of them and the pass fits into memory. Each other cache is a task.
std::vector<Task> tasks_of(std::span<const SharedTrace* const> traces,
                           std::span<const CacheConfig> configs, const SimulateOptions& options) {
  std::map<std::pair<const SharedTrace*, std::string>, std::vector<std::size_t>> passes;
  const bool one_pass = options.one_pass && options.warm_up == 0 && options.discards.empty() &&
                        options.weights.empty();
  for (std::size_t i = 0; i < configs.size() && one_pass; ++i) {
    const bool by_default =
        configs[i].params.empty() && !configs[i].make && traces[i]->line_blocks == 1;
    if (by_default && one_pass_pays_from(configs[i].policy)) {
      passes[{traces[i], configs[i].policy}].push_back(i);
    }
  }
  std::vector<Task> tasks;
  std::vector<bool> taken(configs.size());
  for (auto& [of, together] : passes) {
    if (together.size() < *one_pass_pays_from(of.second)) continue;
    if (bytes_of_all_sizes(of.second, of.first->unique) > options.memory) continue;
    for (const std::size_t i : together) taken[i] = true;
    tasks.push_back({.trace = of.first, .configs = std::move(together), .one_pass = true});
  }
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (!taken[i]) tasks.push_back({.trace = traces[i], .configs = {i}});
  }
  return tasks;
}

// Measure the memory of a task by creating its cache; untouched pages take no memory.
absl::Status measure(Task& task, std::span<const CacheConfig> configs) {
  const CacheConfig& config = configs[task.configs[0]];
  if (task.one_pass) {
    task.bytes = bytes_of_all_sizes(config.policy, task.trace->unique);
    return absl::OkStatus();
  }
  MCSIM_ASSIGN_OR_RETURN(const auto cache, make_cache(config, *task.trace));
  task.bytes = cache->bytes();
  return absl::OkStatus();
}

// Replay accesses from number `begin` on, and apply each discard before its access.
absl::Status replay_piece(TierCache& cache, const AccessBatch<>& piece, std::size_t begin,
                          std::span<const DiscardedBlock>& discards) {
  for (std::size_t at = 0; at < piece.blocks.size();) {
    for (; !discards.empty() && discards.front().access <= begin + at;
         discards = discards.subspan(1)) {
      cache.discard(discards.front().block);
    }
    std::size_t end = piece.blocks.size();
    if (!discards.empty()) end = std::min(end, discards.front().access - begin);
    MCSIM_RETURN_IF_ERROR(cache.replay(piece.part(at, end - at)));
    at = end;
  }
  return absl::OkStatus();
}

class Simulation {
 public:
  Simulation(std::vector<Task> tasks, std::span<const CacheConfig> configs,
             const SimulateOptions& options)
      : tasks_(std::move(tasks)),
        configs_(configs),
        options_(options),
        queue_(jobs(), options.memory),
        results_(configs.size()) {}

  absl::StatusOr<std::vector<SimulatedCache>> run() {
    const int threads = std::min(options_.threads, static_cast<int>(tasks_.size()));
    tbb::task_arena arena(std::max(threads, 1));
    arena.execute([&] {
      tbb::parallel_for(0, threads, [&](int) { take_turns(); }, tbb::simple_partitioner());
    });
    if (!failure_.ok()) return failure_;
    return std::move(results_);
  }

 private:
  std::vector<Job> jobs() const {
    const bool order_matters = options_.threads > 1 && tasks_.size() > 1;
    SpeedEstimate speed;
    std::vector<Job> jobs;
    for (const Task& task : tasks_) {
      const CacheConfig& first = configs_[task.configs[0]];
      const double seconds = !order_matters ? 0
                             : first.make   ? kSpeedElsewhere
                                            : speed.of(first.policy, first.params);
      const auto length = static_cast<double>(task.trace->accesses.blocks.size());
      // Estimate: a one-pass run takes as long as three replays of its policy.
      const double passes = task.one_pass ? 3 : 1;
      jobs.push_back({.bytes = task.bytes, .work = seconds * passes * length});
    }
    return jobs;
  }

  // Run tasks until none is left. The calling thread stays until the end and reports the progress
  // of all threads.
  void take_turns() {
    constexpr auto kBetweenTicks = std::chrono::milliseconds(100);
    while (!queue_.over()) {
      const auto next = queue_.take(kBetweenTicks);
      const absl::Status status =
          guarded("simulate", [&] { return next ? run(tasks_[*next]) : report_progress(0); });
      if (!status.ok()) fail(status);
      if (next) queue_.finish(*next);
    }
  }

  bool is_caller() const { return std::this_thread::get_id() == caller_; }

  absl::Status run(const Task& task) {
    return task.one_pass ? count_together(task) : replay(task.configs[0], *task.trace);
  }

  absl::Status replay(std::size_t i, const SharedTrace& trace) {
    const CacheConfig& config = configs_[i];
    MCSIM_ASSIGN_OR_RETURN(const auto cache, make_cache(config, trace));
    const std::size_t accesses = trace.accesses.blocks.size();
    const std::size_t warm_up = std::min(options_.warm_up, accesses);
    std::span<const DiscardedBlock> discards = trace.discards;
    RequestCounter requests(options_.requests, warm_up);
    std::vector<std::uint8_t> hits(requests.counts() ? std::min(kPiece, accesses) : 0);
    CacheCounts before;
    double seconds = 0;
    for (std::size_t begin = 0; begin < accesses && !stopped_;) {
      const std::size_t end = std::min(begin + kPiece, begin < warm_up ? warm_up : accesses);
      const double start = cpu_seconds();
      AccessBatch<> piece = trace.accesses.part(begin, end - begin);
      if (requests.counts() && begin >= warm_up) piece.hits = std::span(hits).first(end - begin);
      MCSIM_RETURN_IF_ERROR(replay_piece(*cache, piece, begin, discards));
      requests.add(piece.hits);
      advise_dont_need(piece.blocks);
      seconds += begin < warm_up ? 0 : cpu_seconds() - start;
      MCSIM_RETURN_IF_ERROR(report_progress(end - begin));
      if (end == warm_up) before = cache->counts();
      begin = end;
    }
    results_[i] = {.counts = cache->counts().since(before),
                   .requests = requests.hits(),
                   .bytes = cache->bytes(),
                   .seconds = seconds};
    const absl::Status checked = cache->check();
    if (checked.ok()) return checked;
    return internal_error("{}: {}", config.policy, message_of(checked));
  }

  absl::Status count_together(const Task& task) {
    std::vector<Count> capacities;
    for (const std::size_t i : task.configs) capacities.push_back(configs_[i].capacity);
    const auto tick = [&](std::size_t count) {
      if (stopped_) return absl::CancelledError("another task failed");
      return report_progress(count * capacities.size());
    };
    MCSIM_ASSIGN_OR_RETURN(
        const SizesPass pass,
        count_all_sizes(configs_[task.configs[0]].policy, task.trace->accesses, task.trace->unique,
                        capacities, options_.requests, tick));
    const double seconds = pass.seconds / static_cast<double>(capacities.size());
    for (std::size_t k = 0; k < capacities.size(); ++k) {
      results_[task.configs[k]] = {pass.counts[k], pass.requests[k], pass.bytes, seconds};
    }
    return absl::OkStatus();
  }

  absl::Status report_progress(std::size_t count) {
    done_ += static_cast<Count>(count);
    if (!options_.tick || !is_caller() || stopped_) return absl::OkStatus();
    return options_.tick(done_);
  }

  void fail(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    failure_.Update(status);
    stopped_ = true;
    queue_.stop();
  }

  std::vector<Task> tasks_;
  std::span<const CacheConfig> configs_;
  const SimulateOptions& options_;
  JobQueue queue_;
  std::vector<SimulatedCache> results_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::atomic<Count> done_ = 0;
  std::thread::id caller_ = std::this_thread::get_id();
  absl::Status failure_;
};

// Return the largest cache of that policy that fits, 0 if none does.
Count largest_that_fits(CacheConfig config, const SharedTrace& trace, std::size_t memory) {
  Count fits = 0;
  for (Count step = std::bit_floor(static_cast<std::uint64_t>(config.capacity)); step > 0;
       step /= 2) {
    config.capacity = fits + step;
    const auto cache = make_cache(config, trace);
    if (cache.ok() && (*cache)->bytes() <= memory) fits += step;
  }
  return fits;
}

absl::Status check_fits(const Task& task, std::span<const CacheConfig> configs,
                        std::size_t memory) {
  if (task.bytes <= memory) return absl::OkStatus();
  const CacheConfig& config = configs[task.configs[0]];
  const Count fits = largest_that_fits(config, *task.trace, memory);
  const std::string remedy =
      fits > 0 ? fmt::format("{} blocks would fit", fits) : "not even one block would fit";
  return absl::ResourceExhaustedError(
      fmt::format("{}: a cache of {} blocks needs {} bytes of the {} that there may be; {}",
                  config.policy, config.capacity, task.bytes, memory, remedy));
}

absl::StatusOr<std::vector<Task>> measured_tasks(std::span<const SharedTrace* const> traces,
                                                 std::span<const CacheConfig> configs,
                                                 const SimulateOptions& options) {
  std::vector<Task> tasks = tasks_of(traces, configs, options);
  for (Task& task : tasks) MCSIM_RETURN_IF_ERROR(measure(task, configs));
  return tasks;
}

absl::Status check_lines(std::size_t unique, std::uint32_t line_blocks) {
  if (line_blocks > 0 && unique % line_blocks == 0) return absl::OkStatus();
  return invalid_argument("line_blocks: {} blocks are not whole lines of {}", unique, line_blocks);
}

}  // namespace

absl::Status check_weights(const SimulateOptions& options, std::size_t accesses) {
  if (options.weights.empty()) return absl::OkStatus();
  if (options.weights.size() != accesses) {
    return invalid_argument("weights: {} of them for {} accesses", options.weights.size(),
                            accesses);
  }
  if (options.line_blocks != 1) return invalid_argument("weights: objects have no lines");
  const auto zero = std::ranges::find(options.weights, 0U);
  if (zero == options.weights.end()) return absl::OkStatus();
  return invalid_argument("weights[{}]: expected the bytes of an object, at least 1, got 0",
                          zero - options.weights.begin());
}

absl::StatusOr<bool> check_configs(std::span<const CacheConfig> configs, bool weighs) {
  bool needs_next_use = false;
  const Count most = weighs ? kMostBytes : kMostBlocks;
  for (const CacheConfig& config : configs) {
    if (config.capacity < 1 || config.capacity > most) {
      return invalid_argument("{}: a cache of {} {}: expected 1 to {}", config.policy,
                              config.capacity, weighs ? "bytes" : "blocks", most);
    }
    const PolicySetup smallest{.capacity = 1, .blocks = 1};
    MCSIM_ASSIGN_OR_RETURN(const auto cache, make_cache(config, smallest, weighs));
    needs_next_use |= cache->needs_next_use();
  }
  return needs_next_use;
}

absl::Status check_times(std::span<const CacheConfig> configs, std::span<const Nanoseconds> times,
                         std::size_t accesses, bool weighs) {
  if (!times.empty() && times.size() != accesses) {
    return invalid_argument("times: {} of them for {} accesses", times.size(), accesses);
  }
  if (!std::ranges::is_sorted(times)) return invalid_argument("times: they must not decrease");
  for (const CacheConfig& config : configs) {
    MCSIM_ASSIGN_OR_RETURN(const auto cache,
                           make_cache(config, {.capacity = 1, .blocks = 1}, weighs));
    if (!cache->needs_times() || !times.empty() || accesses == 0) continue;
    return invalid_argument("{}: it reads the time, which the trace does not have", config.policy);
  }
  return absl::OkStatus();
}

absl::Status check_blocks(std::span<const BlockId> blocks, std::size_t unique) {
  BlockId greatest = 0;
  for_each_part(blocks, [&](std::span<const BlockId> part) {
    greatest = std::max(greatest, std::ranges::max(part));
  });
  if (blocks.empty() || greatest < unique) return absl::OkStatus();
  return invalid_argument("block {} of a trace of {}", greatest, unique);
}

absl::Status check_discards(std::span<const DiscardedBlock> discards, std::size_t accesses,
                            std::size_t unique) {
  if (!std::ranges::is_sorted(discards, {}, &DiscardedBlock::access)) {
    return invalid_argument("discards: they must be in the order of accesses");
  }
  for (const auto& [access, block] : discards) {
    if (access <= accesses && block < unique) continue;
    return invalid_argument(
        "discards: block {} before access {} of a trace of {} blocks, {} accesses", block, access,
        unique, accesses);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::size_t>> memory_needed(std::span<const BlockId> blocks,
                                                       std::size_t unique,
                                                       std::span<const CacheConfig> configs,
                                                       const SimulateOptions& options) {
  return guarded("simulate", [&]() -> absl::StatusOr<std::vector<std::size_t>> {
    MCSIM_RETURN_IF_ERROR(check_weights(options, blocks.size()));
    MCSIM_RETURN_IF_ERROR(check_configs(configs, !options.weights.empty()).status());
    MCSIM_RETURN_IF_ERROR(check_lines(unique, options.line_blocks));
    MCSIM_RETURN_IF_ERROR(check_blocks(blocks, unique));
    const SharedTrace trace{.accesses = {.blocks = blocks, .weights = options.weights},
                            .unique = unique,
                            .line_blocks = options.line_blocks};
    const std::vector<const SharedTrace*> traces(configs.size(), &trace);
    MCSIM_ASSIGN_OR_RETURN(const auto tasks, measured_tasks(traces, configs, options));
    std::vector<std::size_t> bytes(configs.size());
    for (const Task& task : tasks) {
      for (const std::size_t i : task.configs) bytes[i] = task.bytes;
    }
    return bytes;
  });
}

absl::StatusOr<std::vector<SimulatedCache>> simulate_each(
    std::span<const SharedTrace* const> traces, std::span<const CacheConfig> configs,
    const SimulateOptions& options) {
  return guarded("simulate", [&]() -> absl::StatusOr<std::vector<SimulatedCache>> {
    MCSIM_ASSIGN_OR_RETURN(auto tasks, measured_tasks(traces, configs, options));
    for (const Task& task : tasks) {
      MCSIM_RETURN_IF_ERROR(check_fits(task, configs, options.memory));
    }
    return Simulation(std::move(tasks), configs, options).run();
  });
}

absl::StatusOr<std::vector<SimulatedCache>> simulate(std::span<const BlockId> blocks,
                                                     std::span<const std::uint8_t> ops,
                                                     std::size_t unique,
                                                     std::span<const CacheConfig> configs,
                                                     const SimulateOptions& options) {
  return guarded("simulate", [&]() -> absl::StatusOr<std::vector<SimulatedCache>> {
    MCSIM_RETURN_IF_ERROR(check_weights(options, blocks.size()));
    MCSIM_ASSIGN_OR_RETURN(const bool needs_next_use,
                           check_configs(configs, !options.weights.empty()));
    MCSIM_RETURN_IF_ERROR(check_lines(unique, options.line_blocks));
    MCSIM_RETURN_IF_ERROR(check_blocks(blocks, unique));
    MCSIM_RETURN_IF_ERROR(check_discards(options.discards, blocks.size(), unique));
    MCSIM_RETURN_IF_ERROR(check_requests(options.requests, blocks.size()));
    MCSIM_RETURN_IF_ERROR(
        check_times(configs, options.times, blocks.size(), !options.weights.empty()));
    Pages<NextUse> uses;
    if (needs_next_use) {
      MCSIM_ASSIGN_OR_RETURN(uses,
                             next_uses(blocks, unique, options.line_blocks, options.discards));
    }
    const SharedTrace trace{.accesses = {.blocks = blocks,
                                         .ops = ops,
                                         .next_uses = {uses.data(), uses.size()},
                                         .times = options.times,
                                         .weights = options.weights},
                            .unique = unique,
                            .line_blocks = options.line_blocks,
                            .discards = options.discards};
    const std::vector<const SharedTrace*> traces(configs.size(), &trace);
    return simulate_each(traces, configs, options);
  });
}

}  // namespace mcsim
