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
  kLiteral,  // α·RI at every size: a constant, which cannot change the best allocation
  kLinear,   // α·RI/max RI in proportion to the size
};

// The latency of a miss.
enum class MissLatency : std::uint8_t {
  kMachine,  // the read latency of the backend device
  kTrace,    // mean response time of the requests of the interval
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

// vCacheShare: divides a write-around cache of a server every interval so that the sum of the VMs'
// utilities is largest. With priority w, latency l of the VM's backend (of the device, or of the
// requests in the trace), and the share RR of reads among the accesses of the interval:
//
//   CU(c) = w · l · RR · (H(c) + α·RI)
//
// H is the hit ratio of reads over a long window, in which a write drops its block; RI is the reuse
// intensity of reads in a short window. The size of a VM is at least its reservation and at most
// its limit.
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
                    "time window of the reads in the curves, a whole number of intervals (0: one "
                    "interval); not specified in the publication",
                    0},
              Field{"ri_window", &Params::ri_window,
                    "length of the window of reuse intensity (as Multi-Cache's authors cite it)",
                    1},
              Field{"intensity", &Params::intensity,
                    "reuse intensity: reads per distinct block and second, or the share of "
                    "repeated reads (as Multi-Cache's authors cite it)"},
              Field{"alpha", &Params::alpha,
                    "weight of reuse intensity; not specified in the publication", 0},
              Field{"alpha_mode", &Params::alpha_mode,
                    "use of reuse intensity: the same at every size (literal), or divided by the "
                    "highest intensity and in proportion to the size (linear); not specified in "
                    "the publication"},
              Field{"latency", &Params::latency,
                    "latency of a VM's backend, measured in the publication: of the machine's "
                    "backend, or the mean response time of the trace's requests in an interval"},
              Field{"reservations", &Params::reservations,
                    "minimum size of each VM, in blocks; a VM not named has none"},
              Field{"limits", &Params::limits,
                    "maximum size of each VM, in blocks; a VM not named has none"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "vcacheshare",
      .summary =
          "Divides a write-around cache by read hit ratios and reuse intensity (vCacheShare).",
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
                                                  .between = params_.between_around(),
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
  // Idle VMs keep their reservations.
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
