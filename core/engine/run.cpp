#include "core/engine/run.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/guarded.hpp"

namespace mcsim {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Accesses between two calls of the tick: about 100 ms of replay.
constexpr Count kTickEvery = Count{1} << 21;

// One run, as it goes.
class Runner {
 public:
  Runner(const Accesses& trace, System& system, const Profile* profile, const Tick& tick)
      : trace_(trace), system_(system), profile_(profile), tick_(tick) {
    if (profile != nullptr) seen_.emplace(*profile);
  }

  absl::StatusOr<RunResult> go(const Cuts& metric_cuts) {
    MCSIM_ASSIGN_OR_RETURN(host_, system_.make_host(trace_));
    departed_.resize(trace_.vms.size(), false);
    MCSIM_RETURN_IF_ERROR(advance_to(metric_cuts.front()));
    before_ = host_->counters();
    result_ = {};
    // Both lists of cuts are walked together; where they meet, the interval is closed
    // before the decision changes anything.
    for (std::size_t interval = 0; interval < metric_cuts.size(); ++interval) {
      const std::size_t until = metric_cuts[interval];
      if (interval > 0) {
        MCSIM_RETURN_IF_ERROR(advance_to(until));
        if (interval + 1 == metric_cuts.size()) release_departed();
        MCSIM_RETURN_IF_ERROR(close_interval(interval - 1));
      }
      // Empty intervals share their cut: each takes one decision, the last of
      // them whatever is still due.
      const bool next_is_empty =
          interval + 1 < metric_cuts.size() && metric_cuts[interval + 1] == until;
      while (until < trace_.request_count() && next_decision() == until) {
        MCSIM_RETURN_IF_ERROR(decide());
        if (next_is_empty) break;
      }
    }
    MCSIM_RETURN_IF_ERROR(host_->failure());
    MCSIM_RETURN_IF_ERROR(host_->check_invariants());
    return std::move(result_);
  }

 private:
  // The request before which a decision is taken next, or one that there is not.
  std::size_t next_decision() const {
    constexpr auto kNever = std::numeric_limits<std::size_t>::max();
    if (profile_ == nullptr || decided_ + 1 >= profile_->cuts().size()) return kNever;
    return profile_->cuts()[decided_ + 1];
  }

  // Takes all decisions before that request, and none that falls there.
  absl::Status advance_to(std::size_t request) {
    while (next_decision() < request) {
      MCSIM_RETURN_IF_ERROR(replay_to(next_decision()));
      MCSIM_RETURN_IF_ERROR(decide());
    }
    return replay_to(request);
  }

  // Frees the blocks of the VMs that are gone before the next request.
  void release_departed() {
    for (; gone_ < trace_.departures.size() && trace_.departures[gone_].request <= at_; ++gone_) {
      const VmId vm = trace_.departures[gone_].vm;
      host_->release(vm);
      departed_[vm] = true;
      if (seen_) seen_->forget(vm);
    }
  }

  absl::Status replay_to(std::size_t request) {
    while (at_ < request) {
      release_departed();
      const std::size_t next_departure =
          gone_ < trace_.departures.size() ? trace_.departures[gone_].request : request;
      // A stretch of requests that holds about kTickEvery accesses.
      const auto wanted = trace_.request_begin[at_] + static_cast<std::uint64_t>(kTickEvery);
      const auto first = trace_.request_begin.begin();
      const auto stop = static_cast<std::size_t>(
          std::upper_bound(first + static_cast<std::ptrdiff_t>(at_) + 1,
                           first + static_cast<std::ptrdiff_t>(std::min(request, next_departure)),
                           wanted) -
          first);
      const auto start = Clock::now();
      host_->replay(trace_, {at_, stop});
      result_.replay_seconds += seconds_since(start);
      MCSIM_RETURN_IF_ERROR(host_->failure());
      at_ = stop;
      if (tick_) MCSIM_RETURN_IF_ERROR(tick_(static_cast<Count>(trace_.request_begin[at_])));
    }
    return absl::OkStatus();
  }

  absl::Status close_interval(std::size_t interval) {
    std::vector<VmCounters> now = host_->counters();
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
    before_ = std::move(now);
    return absl::OkStatus();
  }

  // All of it, or nothing: modes are refused for their number alone.
  absl::Status apply(const Decision& decision) {
    const std::vector<WriteMode>& modes = decision.write_modes;
    if (!modes.empty() && modes.size() != trace_.vms.size()) return host_->set_write_modes(modes);
    MCSIM_RETURN_IF_ERROR(host_->resize(decision.targets));
    return modes.empty() ? absl::OkStatus() : host_->set_write_modes(modes);
  }

  absl::Status decide() {
    const std::size_t interval = decided_++;
    const auto start = Clock::now();
    release_departed();
    const std::vector<VmCounters> now = host_->counters();
    seen_->advance();
    Allocation current(now[0].tiers.size(), now.size());
    for (std::size_t vm = 0; vm < now.size(); ++vm) {
      for (std::size_t k = 0; k < now[vm].tiers.size() && !departed_[vm]; ++k) {
        current.at(k, vm) = now[vm].tiers[k].target;
      }
    }
    MCSIM_ASSIGN_OR_RETURN(std::optional<Decision> decision,
                           system_.decide({.interval = interval,
                                           .vms = seen_->vms(),
                                           .curves = seen_->curves(),
                                           .counters = now,
                                           .current = current,
                                           .departed = departed_}));
    result_.decide_seconds += seconds_since(start);
    if (!decision) return absl::OkStatus();
    MCSIM_RETURN_IF_ERROR(apply(*decision));
    result_.decisions.push_back({.request = at_, .decision = *std::move(decision)});
    return absl::OkStatus();
  }

  const Accesses& trace_;
  System& system_;
  const Profile* profile_;
  const Tick& tick_;
  std::optional<ProfileReader> seen_;  // of the profile, as far as it was decided on
  std::unique_ptr<Host> host_;
  std::size_t at_ = 0;
  std::size_t gone_ = 0;        // departures that were
  std::vector<bool> departed_;  // by VM
  std::size_t decided_ = 0;     // intervals of the profile that were decided on
  std::vector<VmCounters> before_;
  RunResult result_;
};

absl::Status check_cuts(const Cuts& cuts, const Accesses& trace) {
  if (cuts.empty()) return invalid_argument("there are no intervals to count");
  if (!std::ranges::is_sorted(cuts)) return invalid_argument("cuts: they must not decrease");
  if (cuts.back() <= trace.request_count()) return absl::OkStatus();
  return out_of_range("cuts: {} is beyond the {} requests of the trace", cuts.back(),
                      trace.request_count());
}

absl::Status check_profile(const System& system, const Profile* profile, const Accesses& trace) {
  if (system.profile().has_value() != (profile != nullptr)) {
    return invalid_argument("the system and the caller disagree on whether a profile is needed");
  }
  if (profile == nullptr) return absl::OkStatus();
  for (const std::vector<VmProfile>& vms : profile->measured->vms) {
    if (vms.size() != trace.vms.size()) {
      return invalid_argument("the profile is of {} VMs, the trace of {}", vms.size(),
                              trace.vms.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunResult> run(const Accesses& trace, System& system, const Profile* profile,
                              const Cuts& metric_cuts, const Tick& tick) {
  return guarded("run", [&]() -> absl::StatusOr<RunResult> {
    if (trace.vms.empty()) return invalid_argument("the trace has no VMs");
    MCSIM_RETURN_IF_ERROR(check_cuts(metric_cuts, trace));
    MCSIM_RETURN_IF_ERROR(check_profile(system, profile, trace));
    return Runner(trace, system, profile, tick).go(metric_cuts);
  });
}

}  // namespace mcsim
