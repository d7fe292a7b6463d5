#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/run/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"
#include "policies/allocation/multicache/burst_trigger.hpp"
#include "policies/allocation/multicache/multicache_params.hpp"

namespace mcsim {

// Multi-Cache: divides each tier every interval so that the sum of the VMs' utilities is largest.
// The utility of c blocks of tier i for a VM with b blocks in faster tiers is
//
//   CU(c) = (l_backend / l_i) · (H(b + c) - H(b)) + α_i · RI
//
// Tiers are solved from the fastest on; each takes the result of the tier above as given. With
// `ri_trigger`, tiers are also divided at the end of a window in which a burst of reuse begins.
class MultiCache final : public CurveMaximizer {
 public:
  using Params = MultiCacheParams;
  static constexpr ComponentInfo kInfo{
      .name = "multicache",
      .summary =
          "Divides each tier every interval by the VMs' utilities, from the fastest tier on "
          "(Multi-Cache).",
      .reference =
          "Rajasekaran, Duan, Zhang, Wood: Multi-Cache: Dynamic, Efficient Partitioning "
          "for Multi-tier Caches in Consolidated VM Environments, IC2E 2016"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  MultiCache(const Params& params, SystemContext context);

  ExpandOptions trace_view(ExpandOptions experiment) const override;
  std::vector<Timer> timers() const override;
  std::vector<Meter> meters() const override;
  std::optional<std::string> default_optimizer() const override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  Grid grid(const Stage& stage) const override;
  Count counted_base(const Stage& stage, std::size_t vm) const override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;
  void worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
                    std::span<const Count> blocks, std::span<double> worths) const override;
  Bounds bounds(const Observation& seen, const Stage& stage, std::size_t vm) const override;
  bool active(const Observation& seen, std::size_t vm) const override;

 private:
  // Return whether the timer of reuse windows fired, rather than the timer of sizes.
  bool at_window(const Observation& seen) const {
    return trigger_.enabled() && seen.timer == kWindow;
  }
  const Intensity& intensity(const Observation& seen, std::size_t vm) const;
  double reuse_term(const Intensity& of, const Stage& stage, Count blocks) const;

  // With a trigger, the first timer fires after every window. It reads all meters but "intensity",
  // so that they are up to date when the timer of sizes fires at the same time.
  static constexpr std::size_t kWindow = 0;

  Params params_;
  BurstTrigger trigger_;
};

}  // namespace mcsim
