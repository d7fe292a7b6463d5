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

// Of what a share is taken.
enum class EciShareOf : std::uint8_t { kReuses, kAccesses };

template <>
struct Choices<EciShareOf> {
  static constexpr std::array names{std::pair{"reuses", EciShareOf::kReuses},
                                    std::pair{"accesses", EciShareOf::kAccesses}};
};

// ECI-Cache: every interval the write policy of each VM is chosen first. Where writes to blocks
// that were accessed before (WAW, WAR) are more than θ of all reuses, they are written around
// the cache, else back. Then sizes, by the useful distances of the reads to such blocks (RAW,
// RAR) alone: the largest + 1. If these fit together, they are what VMs get and the rest is
// nobody's; if not, the sum of mean latencies becomes least, nobody getting more than that.
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
                    "share of rewrites above which a VM writes around the cache; the source "
                    "is silent",
                    0, 1},
              Field{"write_share_of", &Params::write_share_of,
                    "of what that share is: of reuses, as published, or of all accesses"},
              Field{"hysteresis", &Params::hysteresis,
                    "intervals in a row that must ask for another write policy; the source "
                    "is silent",
                    1},
              Field{"quantile", &Params::quantile,
                    "share of the useful distances that a size holds (1: all, as published)", 0, 1},
              Field{"min_blocks", &Params::min_blocks,
                    "what every VM gets at least, but no more than an equal part; the source "
                    "is silent",
                    0},
              Field{"drop_writes", &Params::drop_writes,
                    "of a VM that writes around, distances as if its writes were not there; the "
                    "source is silent"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "eci-cache",
      .summary = "ECI-Cache: least sizes by useful reuse distances, a write policy for each VM.",
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
    const auto useful = [](OpFilter between) {
      return CurveMeter{.ops = OpFilter::kReads, .between = between};
    };
    return {{.what = useful(OpFilter::kAll), .name = "read curve"},
            {.what = useful(OpFilter::kReads), .name = "read curve around"},
            {.what = ClassMeter{}}};
  }
  Actions actions() const override { return {Action::kTargets, Action::kWriteModes}; }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  // Who does nothing has the least size.
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
  std::vector<Count> asked_;      // by VM: intervals in a row for the other mode
};

}  // namespace mcsim
