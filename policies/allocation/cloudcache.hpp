#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/divided_cache.hpp"
#include "policies/allocation/forecast.hpp"

namespace mcsim {

enum class Overload : std::uint8_t {
  kScale,    // scale all working sets of the host down
  kMigrate,  // move VMs to less loaded hosts, then scale
};

template <>
struct Choices<Overload> {
  static constexpr std::array names{std::pair{"scale", Overload::kScale},
                                    std::pair{"migrate", Overload::kMigrate}};
};

// CloudCache: each VM gets its forecast reuse working set, and a block is admitted only after it
// has been reused. In a VM's series of working sets, spikes are replaced by their forecasts before
// smoothing. Space beyond the forecasts stays free. If the working sets of a host exceed its space,
// VMs may migrate: each step moves the VM that most lowers the load of the fullest host and of the
// target host, until no move helps or all working sets fit. A VM with a migration in progress
// stays. If the working sets still exceed the space, all on the host are scaled down, and the
// decision is marked infeasible.
class CloudCache final : public DividedCache {
 public:
  struct Params : DividedCache::Params {
    Params() {
      period = {3600 * kSecond};
      writes = "back";
      admission = "staged";
    }
    Duration window{0};
    Count reuses = 1;
    Smoothing smoothing = Smoothing::kHolt;
    Count history = 10;
    double spike = 3;
    Overload overload = Overload::kScale;
    bool migrate_keep = true;
    double migrate_rate = 0;
    OnDemand on_demand = OnDemand::kDirty;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"window", &Params::window,
                    "time window of the reuse working set, a whole number of periods (0: one "
                    "period); not specified in the publication",
                    0},
              Field{
                  "reuses", &Params::reuses,
                  "number of reuses that put a block into the working set; by default `admission` "
                  "stages a block for this number of reuses; not specified in the publication",
                  0},
              Field{"smoothing", &Params::smoothing,
                    "forecast of working sets: the last one, exponential smoothing, or Holt's "
                    "double exponential smoothing; not specified in the publication"},
              Field{
                  "history", &Params::history,
                  "number of working sets that the forecast uses; not specified in the publication",
                  2, 1'000},
              Field{"spike", &Params::spike,
                    "a working set is a spike if it differs from the mean of the last `history` "
                    "ones by more than this number of standard deviations (0: no spikes); not "
                    "specified in the publication",
                    0},
              Field{"overload", &Params::overload,
                    "action when the working sets of a host exceed its space: scale them down, or "
                    "migrate VMs first; the publication migrates and does not cover a single host"},
              Field{"migrate_keep", &Params::migrate_keep,
                    "whether a migrated VM's cached blocks follow it; if not, they are dropped"},
              Field{"migrate_rate", &Params::migrate_rate,
                    "blocks per second that follow a migrated VM (0: the bandwidth of the link); "
                    "not specified in the publication",
                    0},
              Field{"on_demand", &Params::on_demand,
                    "blocks that are read from the old host during a migration: dirty ones or all; "
                    "others come from the backend"},
          },
          DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "cloudcache",
      .summary =
          "Gives each VM its forecast reuse working set; may migrate VMs from overloaded hosts "
          "(CloudCache).",
      .reference =
          "Arteaga, Cabrera, Xu, Sundararaman, Zhao: CloudCache: On-demand flash cache management "
          "for cloud computing, FAST 2016"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_RETURN_IF_ERROR(check_hosts(context.machine, params, params.resize_mode));
    if (params.overload == Overload::kMigrate && !context.machine.fleet.several()) {
      return invalid_argument("overload: migrate needs several hosts; see `hosts`");
    }
    if (params.admission == Params().admission) {
      params.admission = fmt::format("staged(n={})", params.reuses + 1);
    }
    return make_checked<CloudCache>(std::move(params), std::move(context));
  }
  CloudCache(const Params& params, SystemContext context)
      : DividedCache(params, std::move(context)), params_(params) {}

  bool divides_hosts() const override { return true; }
  Actions actions() const override {
    if (params_.overload == Overload::kScale) return {Action::kTargets};
    return {Action::kTargets, Action::kMigrations};
  }
  Actions host_supports() const override {
    Actions all = System::host_supports();
    if (machine().fleet.several()) all.add(Action::kMigrations);
    return all;
  }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

  std::vector<Meter> meters() const override {
    return {{.what = DistinctMeter{.window = params_.window, .reuses = params_.reuses}}};
  }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>&) override {
    forecasts_.assign(trace.vms.size(), {});
    return absl::OkStatus();
  }
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  void relieve(const Observation& seen, std::span<const double> wanted);

  Params params_;
  std::vector<Forecast> forecasts_;  // by VM: working sets
};

}  // namespace mcsim
