#pragma once

#include <memory>
#include <tuple>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// As many as a line of 1 GiB has of 4 KiB.
inline constexpr double kMostLineBlocks = 1 << 18;

// The machine's tiers under any policies, shared by all VMs or divided among groups of
// them once and for all. Nobody decides anything: this is the data path alone.
class Hierarchy final : public System {
 public:
  struct Params : DataPathParams {
    PerVm groups;
    PerVm shares;
    Count line = 1;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{Field{"groups", &Params::groups,
                           "VMs of the same number share a part of each tier; a VM not named "
                           "counts as 0",
                           0},
                     Field{"shares", &Params::shares,
                           "what each VM adds to its group's part; a VM not named adds 1", 0},
                     Field{"line", &Params::line,
                           "blocks of a line: a miss loads one of them, and what is evicted is "
                           "the line",
                           1, kMostLineBlocks}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hierarchy",
      .summary = "Tiers under any policies, shared by all VMs or by groups of them.",
      .reference = "no publication: the data path that systems decide about, alone"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Hierarchy>(std::move(params), std::move(context));
  }
  Hierarchy(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.line_blocks = static_cast<std::uint32_t>(params_.line);
    return experiment;
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
