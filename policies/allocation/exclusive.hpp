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

// The hypervisor's exclusive cache: the first tier is the VMs' own memory, in equal parts that
// stay, each an LRU cache; what leaves it comes into the second, the hypervisor's, which is
// divided so that the geometric mean of the miss ratios is least,
//
//   minimise Π_v MR_v(own + c_v)   with   MR_v(own + c_v) <= (1 + δ) MR_v(own + equal part).
//
// Of a machine with one tier the VMs' memory is a part of that.
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
                    "how much higher than with an equal part a VM's miss ratio may be, as a share "
                    "of that; the source is silent",
                    0},
              Field{"distance_scope", &Params::distance_scope,
                    "what an access finds in the cache; the source is silent"},
              Field{"grid", &Params::grid,
                    "sizes tried of what VMs are not sure of; the source is silent", 2, 1'000'000},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "exclusive",
      .summary = "Hypervisor exclusive cache: least geometric mean of misses, losses bounded.",
      .reference =
          "Lu, Shen: Virtual Machine Memory Access Tracing with Hypervisor Exclusive Cache, "
          "USENIX ATC 2007"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Exclusive(const Params& params, SystemContext context)
      : CurveMaximizer(kInfo.name, params, std::move(context), {}), params_(params) {}

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  std::vector<Meter> meters() const override {
    return {{.what = CurveMeter{.scope = params_.distance_scope}}};
  }

 protected:
  // A VM's own memory stays, whatever it does.
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
