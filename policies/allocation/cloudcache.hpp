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
  kScale,    // all on the host get so much less
  kMigrate,  // VMs move to hosts with less to do; then as before
};

template <>
struct Choices<Overload> {
  static constexpr std::array names{std::pair{"scale", Overload::kScale},
                                    std::pair{"migrate", Overload::kMigrate}};
};

// CloudCache: each VM gets the blocks that it is forecast to reuse, and no block comes in before
// it has been reused. Of a VM's reuse working sets, those that stand out are taken for what was
// forecast instead, and the rest is smoothed. What nobody is forecast to reuse nobody gets. If a
// host has less space than that, VMs may move to others: each time the one whose move lowers the
// load of the fullest host and of where it goes the most, until none does or nothing is too full.
// Who is still followed by blocks stays. If it does not do, all on the host get so much less, and
// the decision is infeasible.
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
                    "of the reuse working set (0: a period), a whole number of periods; the source "
                    "is silent",
                    0},
              Field{"reuses", &Params::reuses,
                    "how often a block of it is reused; unless `admission` says otherwise it is "
                    "staged until it was; the source is silent",
                    0},
              Field{"smoothing", &Params::smoothing,
                    "how working sets are forecast; the source is silent"},
              Field{"history", &Params::history,
                    "working sets that the forecast rests on; the source is silent", 2, 1'000},
              Field{"spike", &Params::spike,
                    "a working set is a spike if it is more standard deviations off the mean of "
                    "those before it, once there are as many as `history` (0: none is); the source "
                    "is silent",
                    0},
              Field{"overload", &Params::overload,
                    "what happens if the VMs of a host are to reuse more than it has; the source "
                    "migrates, of one host it is silent"},
              Field{"migrate_keep", &Params::migrate_keep,
                    "whether the cache of a VM that moves comes after it, or is dropped"},
              Field{"migrate_rate", &Params::migrate_rate,
                    "blocks a second in which it comes (0: what the link takes); the source is "
                    "silent",
                    0},
              Field{"on_demand", &Params::on_demand,
                    "which blocks are read from the host that it left; others come from the "
                    "backend"},
          },
          DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "cloudcache",
      .summary =
          "CloudCache: each VM gets what it is forecast to reuse, and moves if its host has less.",
      .reference =
          "Arteaga, Cabrera, Xu, Sundararaman, Zhao: CloudCache: On-demand flash cache management "
          "for cloud computing, FAST 2016"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    MCSIM_RETURN_IF_ERROR(check_hosts(context.machine, params, params.resize_mode));
    if (params.overload == Overload::kMigrate && !context.machine.fleet.several()) {
      return invalid_argument(
          "overload: there is one host, and nowhere to migrate to; see `hosts`");
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
  std::vector<Forecast> forecasts_;  // of working sets, by VM
};

}  // namespace mcsim
