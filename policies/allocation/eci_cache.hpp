#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/one_cache.hpp"

namespace mcsim {

// The total that the share of rewrites refers to.
enum class EciShareOf : std::uint8_t { kReuses, kAccesses };

template <>
struct Choices<EciShareOf> {
  static constexpr std::array names{std::pair{"reuses", EciShareOf::kReuses},
                                    std::pair{"accesses", EciShareOf::kAccesses}};
};

// ECI-Cache: every interval it first chooses the write policy of each VM. If writes to blocks
// accessed before (WAW, WAR) are more than the share θ of all reuses, the VM's writes go around the
// cache, else they are written back. Then it chooses sizes from the useful reuse distances, those
// of reads to blocks accessed before (RAW, RAR): the largest + 1. If these sizes fit together, they
// are the sizes of the VMs and the rest stays free. If not, the sum of mean latencies is minimised
// with these sizes as maxima.
class EciCache final : public OneCacheMaximizer {
 public:
  struct Params : OneCacheMaximizer::Params {
    double theta = 0.5;
    EciShareOf write_share_of = EciShareOf::kReuses;
    Count hysteresis = 1;
    double quantile = 1;
    Count min_blocks = 1000;
    bool drop_writes = true;

    Params() { writes = "back"; }
    static constexpr auto fields() {
      return std::tuple_cat(
          OneCacheMaximizer::Params::fields(),
          std::tuple{
              Field{"theta", &Params::theta,
                    "share of rewrites above which a VM's writes go around the cache; not "
                    "specified in the publication",
                    0, 1},
              Field{"write_share_of", &Params::write_share_of,
                    "denominator of that share: reuses, as published, or all accesses"},
              Field{"hysteresis", &Params::hysteresis,
                    "consecutive intervals that must favour the other write policy before it is "
                    "applied; not specified in the publication",
                    1},
              Field{"quantile", &Params::quantile,
                    "share of the useful reuse distances that fit into a VM's size (1: all, as "
                    "published)",
                    0, 1},
              Field{"min_blocks", &Params::min_blocks,
                    "minimum size of a VM in blocks, at most an equal part; not specified in the "
                    "publication",
                    0},
              Field{"drop_writes", &Params::drop_writes,
                    "whether the reuse distances of a VM that writes around the cache are those of "
                    "its reads, whose blocks its writes drop; not specified in the publication"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "eci-cache",
      .summary =
          "Chooses minimal sizes by useful reuse distances and a write policy for each VM "
          "(ECI-Cache).",
      .reference =
          "Ahmadian, Mutlu, Asadi: ECI-Cache: A High-Endurance and Cost-Efficient I/O Caching "
          "Scheme for Virtualized Platforms, SIGMETRICS 2018"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<EciCache>(std::move(params), std::move(context));
  }
  EciCache(const Params& params, SystemContext context)
      : OneCacheMaximizer(kInfo.name, params, std::move(context), Leftover::kStay),
        params_(params) {}

  std::vector<Meter> meters() const override {
    const auto useful = [](Between between) {
      return CurveMeter{.ops = OpFilter::kReads, .between = between};
    };
    return {{.what = useful(Between::kAll), .name = "read curve"},
            {.what = useful(params_.between_around()), .name = "read curve around"},
            {.what = ClassMeter{}}};
  }
  Actions actions() const override { return {Action::kTargets, Action::kWriteModes}; }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  // Idle VMs take part and get the minimum size.
  bool active(const Observation& seen, std::size_t vm) const override { return is_here(seen, vm); }
  std::string prepare(const Observation& seen) override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;

 private:
  void choose_modes(const Observation& seen);
  const RunningCurve& useful(const Observation& seen, std::size_t vm) const;
  Count size_for(const RunningCurve& curve) const;

  Params params_;
  std::vector<WriteMode> modes_;  // by VM
  std::vector<Count> asked_;      // by VM: consecutive intervals that favour the other mode
};

}  // namespace mcsim
