#include "core/engine/run/run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/run/apply.hpp"
#include "core/engine/run/meter_readings.hpp"
#include "core/engine/run/run_checks.hpp"
#include "core/engine/run/timer_queue.hpp"

namespace mcsim {
namespace {

using Stopwatch = std::chrono::steady_clock;

double seconds_since(Stopwatch::time_point start) {
  return std::chrono::duration<double>(Stopwatch::now() - start).count();
}

// Accesses between two calls of the tick: about 100 ms of replay.
constexpr Count kTickEvery = Count{1} << 21;

// The state of one run.
class Runner {
 public:
  Runner(const Accesses& trace, System& system, const Characterised& measured, const Tick& tick,
         BackendLog* log, const SavedState* state, bool is_saved)
      : trace_(trace),
        system_(system),
        tick_(tick),
        log_(log),
        state_(state),
        is_saved_(is_saved),
        timers_(system.timers()),
        actions_(system.actions()),
        timer_queue_(trace, timers_),
        begin_(trace.request_count() == 0 ? 0 : trace.request_time.front()),
        meters_(system, measured),
        timer_states_(timers_.size()) {}

  absl::StatusOr<RunResult> execute(const Cuts& metric_cuts) {
    MCSIM_RETURN_IF_ERROR(make_host());
    if (timer_queue_.request() == 0) MCSIM_RETURN_IF_ERROR(decide_at_once());
    MCSIM_RETURN_IF_ERROR(advance_to(metric_cuts.front()));
    before_ = host_->counters();
    result_.intervals.clear();
    if (metric_cuts.front() > 0) {
      result_.decisions.clear();
      result_.replay_seconds = result_.decide_seconds = 0;
    }
    // Walk both lists of cuts together. Where they meet, the interval is closed before the decision
    // changes anything.
    for (std::size_t interval = 0; interval < metric_cuts.size(); ++interval) {
      const std::size_t until = metric_cuts[interval];
      if (interval > 0) {
        MCSIM_RETURN_IF_ERROR(advance_to(until));
        if (interval + 1 == metric_cuts.size()) discard_and_release();
        MCSIM_RETURN_IF_ERROR(close_interval(interval - 1));
      }
      // Empty intervals have equal cuts. Each takes the decisions of one point in time; the last
      // one takes all remaining ones.
      const bool next_is_empty =
          interval + 1 < metric_cuts.size() && metric_cuts[interval + 1] == until;
      while (until < trace_.request_count() && timer_queue_.request() == until) {
        MCSIM_RETURN_IF_ERROR(decide_at_once());
        if (next_is_empty) break;
      }
    }
    MCSIM_RETURN_IF_ERROR(host_->failure());
    MCSIM_RETURN_IF_ERROR(host_->check_invariants());
    return std::move(result_);
  }

  // To be called at the end.
  Host& host() { return *host_; }

 private:
  // The state of a timer when it last fired.
  struct TimerState {
    std::size_t times = 0;
    std::vector<VmCounters> counters;
  };

  absl::Status make_host() {
    MCSIM_ASSIGN_OR_RETURN(host_, system_.make_host(trace_));
    MCSIM_RETURN_IF_ERROR(check_supported(actions_, host_->supports()));
    if (const std::optional<ProbeSpec> spec = system_.probe()) {
      probe_timer_ = spec->timer;
      probe_.emplace(trace_);
    }
    if (probe_ || log_ != nullptr) {
      MCSIM_RETURN_IF_ERROR(host_->attach({.probe = probe_ ? &*probe_ : nullptr, .log = log_}));
    }
    if (state_ != nullptr) MCSIM_RETURN_IF_ERROR(state_->load(*host_, trace_));
    if (is_saved_) {  // A host that cannot be saved is refused before the replay.
      ArchiveWriter unused;
      MCSIM_RETURN_IF_ERROR(host_->save(unused));
    }
    departed_.resize(trace_.vms.size(), false);
    arrived_.resize(trace_.vms.size(), false);
    for (TimerState& timer : timer_states_) timer.counters = host_->counters();
    return absl::OkStatus();
  }

  // Take all decisions before that request, but none at it.
  absl::Status advance_to(std::size_t request) {
    while (timer_queue_.request() < request) {
      MCSIM_RETURN_IF_ERROR(replay_to(timer_queue_.request()));
      MCSIM_RETURN_IF_ERROR(decide_at_once());
    }
    return replay_to(request);
  }

  // Discard blocks, and release those of departed VMs, before the next request.
  void discard_and_release() {
    std::vector<BlockId> blocks;
    const auto& discards = trace_.discards;
    for (; discarded_ < discards.size() && discards[discarded_].request <= at_; ++discarded_) {
      blocks.push_back(discards[discarded_].block);
    }
    if (log_ != nullptr) log_->discard(at_, blocks);
    if (!blocks.empty()) host_->discard(blocks);
    for (; gone_ < trace_.departures.size() && trace_.departures[gone_].request <= at_; ++gone_) {
      const VmId vm = trace_.departures[gone_].vm;
      host_->release(vm);
      departed_[vm] = true;
      meters_.forget(vm);
    }
  }

  void note_arrivals(Nanoseconds now) {
    for (std::size_t vm = 0; vm < arrived_.size(); ++vm) {
      arrived_[vm] = trace_.vms[vm].arrives <= begin_ + now;
    }
  }

  // The request before which the next VM departs or the next block is discarded.
  std::size_t next_event() const {
    std::size_t next = trace_.request_count();
    if (gone_ < trace_.departures.size()) next = trace_.departures[gone_].request;
    if (discarded_ < trace_.discards.size()) {
      next = std::min(next, trace_.discards[discarded_].request);
    }
    return next;
  }

  absl::Status replay_to(std::size_t request) {
    while (at_ < request) {
      discard_and_release();
      // A range of requests with about kTickEvery accesses.
      const auto wanted = trace_.request_begin[at_] + static_cast<std::uint64_t>(kTickEvery);
      const auto first = trace_.request_begin.begin();
      const auto stop = static_cast<std::size_t>(
          std::upper_bound(first + static_cast<std::ptrdiff_t>(at_) + 1,
                           first + static_cast<std::ptrdiff_t>(std::min(request, next_event())),
                           wanted) -
          first);
      const auto start = Stopwatch::now();
      replay({at_, stop});
      result_.replay_seconds += seconds_since(start);
      MCSIM_RETURN_IF_ERROR(host_->failure());
      trace_.release_pages({at_, stop});
      at_ = stop;
      if (tick_) MCSIM_RETURN_IF_ERROR(tick_(static_cast<Count>(trace_.request_begin[at_])));
    }
    return absl::OkStatus();
  }

  void replay(RequestRange range) {
    if (log_ == nullptr) return host_->replay(trace_, range);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      log_->begin_request(r);
      host_->replay(trace_, {r, r + 1});
    }
  }

  absl::Status close_interval(std::size_t interval) {
    std::vector<VmCounters> now = host_->counters();
    const bool was_empty = std::exchange(is_empty_, now == before_);
    if (was_empty && is_empty_) {
      ++result_.lengths.back();
      return absl::OkStatus();
    }
    std::vector<VmCounters> spans;
    for (std::size_t vm = 0; vm < now.size(); ++vm) {
      spans.push_back(now[vm].since(before_[vm]));
      const absl::Status law = check_conservation(before_[vm], now[vm]);
      if (!law.ok()) {
        return internal_error("interval {}, {}: {}", interval, trace_.vms[vm].name,
                              message_of(law));
      }
    }
    result_.intervals.push_back(std::move(spans));
    result_.lengths.push_back(1);
    before_ = std::move(now);
    return absl::OkStatus();
  }

  // Decide for all timers that fire at this time.
  absl::Status decide_at_once() {
    const Nanoseconds now = timer_queue_.time();
    const std::size_t request = timer_queue_.request();
    discard_and_release();
    note_arrivals(now);
    while (timer_queue_.request() == request && timer_queue_.time() == now) {
      MCSIM_RETURN_IF_ERROR(decide(timer_queue_.pop(), now));
    }
    return absl::OkStatus();
  }

  absl::Status decide(std::size_t timer, Nanoseconds now) {
    const auto start = Stopwatch::now();
    TimerState& state = timer_states_[timer];
    const bool at_start = timers_[timer].at_start && state.times == 0;
    if (!at_start) meters_.advance(timer);
    std::vector<VmCounters> counters = host_->counters();
    std::vector<VmCounters> since;
    for (std::size_t vm = 0; vm < counters.size(); ++vm) {
      since.push_back(counters[vm].since(state.counters[vm]));
    }
    const Allocation current = targets_of(counters);
    const std::vector<Reading> readings = meters_.readings();
    const bool reads_probe = probe_ && timer == probe_timer_;
    MCSIM_ASSIGN_OR_RETURN(
        std::optional<Decision> decision,
        system_.decide({.timer = timer,
                        .interval = state.times,
                        .now = now,
                        .meters = readings,
                        .counters = counters,
                        .since = since,
                        .current = current,
                        .probe = reads_probe ? probe_->readings() : std::span<const ProbeReading>(),
                        .departed = departed_,
                        .arrived = arrived_}));
    state = {.times = state.times + 1, .counters = std::move(counters)};
    if (reads_probe) probe_->begin_window();
    result_.decide_seconds += seconds_since(start);
    if (!decision) return absl::OkStatus();
    MCSIM_RETURN_IF_ERROR(apply(*decision, actions_, current, now, *host_));
    const Allocation& targets = decision->targets ? *decision->targets : current;
    store({.request = at_,
           .timer = timer,
           .targets = targets,
           .moved = static_cast<Count>(decision->placements.size() * trace_.line_blocks),
           .decision = *std::move(decision)});
    return absl::OkStatus();
  }

  void store(DecisionRecord record) {
    if (!result_.decisions.empty() && is_repeated(result_.decisions.back(), record)) {
      ++result_.decisions.back().times;
    } else {
      result_.decisions.push_back(std::move(record));
    }
  }

  // The targets in force; 0 for departed VMs.
  Allocation targets_of(const std::vector<VmCounters>& counters) const {
    Allocation targets(counters[0].tiers.size(), counters.size());
    for (std::size_t vm = 0; vm < counters.size(); ++vm) {
      for (std::size_t k = 0; k < targets.tiers() && !departed_[vm]; ++k) {
        targets.at(k, vm) = counters[vm].tiers[k].target;
      }
    }
    return targets;
  }

  const Accesses& trace_;
  System& system_;
  const Tick& tick_;
  BackendLog* const log_;
  const SavedState* const state_;
  const bool is_saved_;  // at the end
  const std::vector<Timer> timers_;
  const Actions actions_;
  TimerQueue timer_queue_;
  const Nanoseconds begin_;  // of the trace
  MeterReadings meters_;
  std::vector<TimerState> timer_states_;  // by timer
  std::unique_ptr<Host> host_;
  std::optional<CacheProbe> probe_;
  std::size_t probe_timer_ = 0;
  std::size_t at_ = 0;
  std::size_t gone_ = 0;        // departures processed
  std::size_t discarded_ = 0;   // discards processed
  std::vector<bool> departed_;  // by VM
  std::vector<bool> arrived_;   // by VM
  std::vector<VmCounters> before_;
  bool is_empty_ = false;  // no counter changed in the last interval
  RunResult result_;
};

absl::StatusOr<RunResult> run_with_state(const Accesses& given, System& system,
                                         const Characterised& measured, const Cuts& metric_cuts,
                                         const Tick& tick, BackendLog* log,
                                         const StateFiles& files) {
  if (!system.timers().empty() || system.probe()) {
    return invalid_argument(
        "state: this system decides while it runs, and what it has learned cannot be saved");
  }
  std::optional<SavedState> state;
  Accesses trace = given;
  if (!files.from.empty()) {
    MCSIM_ASSIGN_OR_RETURN(state, SavedState::open(files));
    MCSIM_ASSIGN_OR_RETURN(trace, continue_ids(given, state->blocks()));
  }
  MCSIM_ASSIGN_OR_RETURN(KnownBlocks blocks, known_blocks(trace));
  Runner runner(trace, system, measured, tick, log, state ? &*state : nullptr, !files.to.empty());
  MCSIM_ASSIGN_OR_RETURN(RunResult result, runner.execute(metric_cuts));
  if (files.to.empty()) return result;
  MCSIM_RETURN_IF_ERROR(save_state(runner.host(), std::move(blocks), files));
  return result;
}

}  // namespace

absl::StatusOr<RunResult> run(const Accesses& trace, System& system, const Characterised& measured,
                              const Cuts& metric_cuts, const Tick& tick, BackendLog* log,
                              const StateFiles& files) {
  return guarded("run", [&]() -> absl::StatusOr<RunResult> {
    if (trace.vms.empty()) return invalid_argument("the trace has no VMs");
    MCSIM_RETURN_IF_ERROR(check_cuts(metric_cuts, trace));
    MCSIM_RETURN_IF_ERROR(check_meters(system, measured, trace));
    try {
      if (files.from.empty() && files.to.empty()) {
        return Runner(trace, system, measured, tick, log, nullptr, false).execute(metric_cuts);
      }
      return run_with_state(trace, system, measured, metric_cuts, tick, log, files);
    } catch (const std::out_of_range& error) {
      return internal_error("{}", error.what());
    }
  });
}

}  // namespace mcsim
