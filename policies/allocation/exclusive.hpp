#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"

namespace mcsim {

// The hypervisor's exclusive cache. The first tier is the VMs' own memory: fixed equal parts, each
// an LRU cache. Its victims enter the second tier, the hypervisor's cache, which is divided so that
// the geometric mean of the miss ratios is smallest,
//
//   minimise Π_v MR_v(own + c_v)   with   MR_v(own + c_v) <= (1 + δ) MR_v(own + equal part).
//
// On a machine with one tier, that tier contains the VMs' memory too.
class Exclusive final : public CurveMaximizer {
 public:
  struct Params : CurveMaximizer::Params {
    double delta = 0.05;
    DistanceScope distance_scope = DistanceScope::kInterval;
    Count grid = 200;

    Params() {
      rd_interval = {600 * kSecond};
      resize_mode = ResizeMode::kEager;
    }
    static constexpr auto fields() {
      return std::tuple_cat(
          CurveMaximizer::Params::interval_fields(),
          std::tuple{
              Field{"delta", &Params::delta,
                    "maximum relative increase of a VM's miss ratio over its miss ratio with an "
                    "equal part; not specified in the publication",
                    0},
              Field{"distance_scope", &Params::distance_scope,
                    "accesses that the reuse distances cover: of the interval, of all so far, or "
                    "of the interval after a warm start; not specified in the publication"},
              Field{"grid", &Params::grid,
                    "number of sizes into which the space beyond the guaranteed sizes is divided; "
                    "not specified in the publication",
                    2, 1'000'000},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "exclusive",
      .summary =
          "Minimises the geometric mean of miss ratios and bounds each VM's loss (hypervisor "
          "exclusive cache).",
      .reference =
          "Lu, Shen: Virtual Machine Memory Access Tracing with Hypervisor Exclusive Cache, "
          "USENIX ATC 2007"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Exclusive(const Params& params, SystemContext context)
      : CurveMaximizer(kInfo.name, params, std::move(context), {}), params_(params) {}

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  std::vector<Meter> meters() const override {
    return with_around({{.what = CurveMeter{.scope = params_.distance_scope}}});
  }

 protected:
  // A VM keeps its own memory even if it is idle.
  bool active(const Observation& seen, std::size_t vm) const override { return !seen.departed[vm]; }
  std::string prepare(const Observation& seen) override;
  Grid grid(const Stage& stage) const override;
  Count counted_base(const Stage& stage, std::size_t vm) const override {
    return -sure_[stage.first][vm];
  }
  Bounds bounds(const Observation& seen, const Stage& stage, std::size_t vm) const override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;

 private:
  bool is_own(std::size_t tier) const { return machine().tier_count() == 2 && tier == 0; }

  Params params_;
  std::vector<std::vector<Count>> sure_;  // [tier][vm]
};

}  // namespace mcsim
