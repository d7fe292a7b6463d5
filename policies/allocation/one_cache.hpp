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

// A base class of systems that divide one cache, all tiers together; every VM has the same share of
// its space in each tier. Guaranteed sizes are exact to the block. A grid divides the rest so that
// the total value is largest.
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
                           "number of sizes into which the space beyond the guaranteed sizes is "
                           "divided; not specified in the publication",
                           2, 1'000'000}});
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

  // Return the meters of mean_ns() and promise(): curves of all accesses, then those of reads.
  std::vector<Meter> latency_meters(DistanceScope scope) const;

  // Minimum and maximum size of every VM, set by prepare(). The minima fit together.
  std::vector<Bounds> bounds_;

  Grid grid(const Stage& stage) const final;
  Count counted_base(const Stage&, std::size_t vm) const final { return -bounds_[vm].least; }
  Bounds bounds(const Observation&, const Stage&, std::size_t vm) const final {
    return bounds_[vm];
  }

  // Return whether the VM has arrived and has not departed.
  static bool is_here(const Observation& seen, std::size_t vm) {
    return seen.arrived[vm] && !seen.departed[vm];
  }
  const std::vector<VmInfo>& vms() const { return vms_; }
  const LatencyModel& latency() const { return latency_; }
  Count capacity() const { return latency_.capacity(); }
  // Return the mix of a VM's accesses in the last interval.
  auto mix(const Observation& seen, std::size_t vm) const {
    const RunningCurve& reads = latency_.read_curve(seen, vm);
    const auto all = static_cast<double>(curves(seen)[vm].accesses());
    return AccessMix{.write_share = all > 0 ? 1 - static_cast<double>(reads.accesses()) / all : 0.0,
                     .read_ratio = [&reads](Count blocks) { return reads.ratio(blocks); }};
  }
  // Return the mean latency of a VM at a size, by the accesses of the last interval.
  double mean_ns(const Observation& seen, std::size_t vm, Count blocks) const;
  // Return the smallest size that meets the target of each VM with accesses, and the VMs that miss
  // their targets with all blocks.
  Promises promise(const Observation& seen, std::span<const double> wanted_ns) const;

 private:
  Count steps_;
  std::string writes_;
  std::vector<VmInfo> vms_;
  LatencyModel latency_;
};

}  // namespace mcsim
