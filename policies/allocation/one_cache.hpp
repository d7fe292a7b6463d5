#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"
#include "policies/allocation/latency.hpp"

namespace mcsim {

// A system that divides one cache, all tiers together: every VM has as much of its space in
// each tier. What VMs are sure of is given to the block; a grid divides the rest so that it is
// worth the most.
class OneCacheMaximizer : public CurveMaximizer {
 public:
  struct Params : CurveMaximizer::Params {
    Count grid = 200;

    Params() {
      rd_interval = {600 * kSecond};
      resize_mode = ResizeMode::kEager;
    }
    static constexpr auto fields() {
      return std::tuple_cat(
          CurveMaximizer::Params::interval_fields(),
          std::tuple{Field{"grid", &Params::grid,
                           "sizes tried of what VMs are not sure of; the source is silent", 2,
                           1'000'000}});
    }
  };

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 protected:
  OneCacheMaximizer(const char* name, const Params& params, SystemContext context,
                    Leftover leftover)
      : CurveMaximizer(name, params, std::move(context),
                       {.tiers = Tiers::kAsOne, .leftover = leftover}),
        steps_(params.grid),
        writes_(params.writes) {}

  // The meters of mean_ns() and promise(): curves of all accesses, then those of reads.
  std::vector<Meter> latency_meters(DistanceScope scope) const;

  // What every VM gets at least, which fits together, and at most. Set by prepare().
  std::vector<Bounds> bounds_;

  Grid grid(const Stage& stage) const final;
  Count counted_base(const Stage&, std::size_t vm) const final { return -bounds_[vm].least; }
  Bounds bounds(const Observation&, const Stage&, std::size_t vm) const final {
    return bounds_[vm];
  }

  // Whether it had an access, and is not gone.
  static bool is_here(const Observation& seen, std::size_t vm) {
    return seen.arrived[vm] && !seen.departed[vm];
  }
  const std::vector<VmInfo>& vms() const { return vms_; }
  const LatencyModel& latency() const { return latency_; }
  Count capacity() const { return latency_.capacity(); }
  // Accesses of a VM in the last interval.
  auto mix(const Observation& seen, std::size_t vm) const {
    const RunningCurve& reads = latency_.read_curve(seen, vm);
    const auto all = static_cast<double>(curves(seen)[vm].accesses());
    return AccessMix{.write_share = all > 0 ? 1 - static_cast<double>(reads.accesses()) / all : 0.0,
                     .read_ratio = [&reads](Count blocks) { return reads.ratio(blocks); }};
  }
  // Mean latency of a VM at a size, by the accesses of the last interval.
  double mean_ns(const Observation& seen, std::size_t vm, Count blocks) const;
  // The fewest blocks with which every VM that had accesses waits no longer than it wants, and
  // the VMs that cannot have that with all blocks.
  Promises promise(const Observation& seen, std::span<const double> wanted_ns) const;

 private:
  Count steps_;
  std::string writes_;
  std::vector<VmInfo> vms_;
  LatencyModel latency_;
};

}  // namespace mcsim
