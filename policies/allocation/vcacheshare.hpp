#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/one_cache.hpp"

namespace mcsim {

// How reuse intensity enters vCacheShare's utility.
enum class AlphaMode : std::uint8_t {
  kLiteral,  // α·RI whatever the size: it cannot change which allocation is best
  kLinear,   // α·RI/max RI in proportion to the size
};

// How long a miss of a VM takes.
enum class MissLatency : std::uint8_t {
  kMachine,  // what the machine says of its backend
  kTrace,    // the mean response time of the requests of the interval
};

template <>
struct Choices<MissLatency> {
  static constexpr std::array names{std::pair{"machine", MissLatency::kMachine},
                                    std::pair{"trace", MissLatency::kTrace}};
};
template <>
struct Choices<AlphaMode> {
  static constexpr std::array names{std::pair{"literal", AlphaMode::kLiteral},
                                    std::pair{"linear", AlphaMode::kLinear}};
};

// vCacheShare: a cache of the server's that is written around. Every interval it is divided so
// that the sum of the VMs' utilities is largest. With priority w, latency l of the VM's backend (as
// the machine has it, or as long as the requests of the trace took), and of the interval's accesses
// a share RR of reads:
//
//   CU(c) = w · l · RR · (H(c) + α·RI)
//
// H is the hit ratio of reads over a long window, as if there were no writes, RI their reuse
// intensity in a short one. A VM has no less than its reservation, no more than its limit.
class VCacheShare final : public OneCacheMaximizer {
 public:
  struct Params : OneCacheMaximizer::Params {
    Duration window{3600 * kSecond};
    Duration ri_window{100 * kSecond};
    IntensityKind intensity = IntensityKind::kPerSecond;
    double alpha = 0.1;
    AlphaMode alpha_mode = AlphaMode::kLiteral;
    MissLatency latency = MissLatency::kMachine;
    PerVm reservations;
    PerVm limits;

    Params() { writes = "around"; }
    static constexpr auto fields() {
      return std::tuple_cat(
          OneCacheMaximizer::Params::fields(),
          std::tuple{
              Field{"window", &Params::window,
                    "of reads whose distances make the curve, a whole number of intervals (0: "
                    "one); the source is silent",
                    0},
              Field{"ri_window", &Params::ri_window,
                    "length of a reuse-intensity window (as Multi-Cache's authors cite it)", 1},
              Field{"intensity", &Params::intensity,
                    "reads of each distinct block a second, or the share of repeats (as "
                    "Multi-Cache cites it)"},
              Field{"alpha", &Params::alpha, "weight of reuse intensity; the source is silent", 0},
              Field{"alpha_mode", &Params::alpha_mode,
                    "reuse intensity as it is, the same for every size, or in proportion to the "
                    "size, the highest being 1; the source is silent"},
              Field{"latency", &Params::latency,
                    "of a VM's backend, which the source measures: what the machine says, or the "
                    "mean response time of the trace's requests in an interval"},
              Field{"reservations", &Params::reservations, "blocks that a VM is sure of"},
              Field{"limits", &Params::limits, "blocks that a VM gets at most"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "vcacheshare",
      .summary = "vCacheShare: divide a write-around cache by read locality and reuse intensity.",
      .reference =
          "Meng, Zhou, Ma, Uttamchandani, Liu: vCacheShare: Automated Server Flash Cache Space "
          "Management in a Virtualization Environment, USENIX ATC 2014"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<VCacheShare>(std::move(params), std::move(context));
  }
  VCacheShare(const Params& params, SystemContext context)
      : OneCacheMaximizer(kInfo.name, params, std::move(context), Leftover::kStay),
        params_(params) {}

  std::vector<Meter> meters() const override {
    std::vector<Meter> meters{{.what = CurveMeter{.ops = OpFilter::kReads,
                                                  .between = OpFilter::kReads,
                                                  .window = params_.window}},
                              {.what = IntensityMeter{.kind = params_.intensity,
                                                      .ops = OpFilter::kReads,
                                                      .window = params_.ri_window}},
                              {.what = LoadMeter{}}};
    if (params_.latency == MissLatency::kTrace) meters.push_back({.what = ResponseMeter{}});
    return meters;
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 protected:
  // Reservations are kept for those who do nothing.
  bool active(const Observation& seen, std::size_t vm) const override { return !seen.departed[vm]; }
  std::string prepare(const Observation& seen) override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;

 private:
  double latency_ns(const Observation& seen, std::size_t vm) const;

  Params params_;
  double highest_intensity_ = 0;
};

}  // namespace mcsim
