#pragma once

#include <memory>
#include <tuple>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// The number of 4 KiB blocks in 1 GiB.
inline constexpr double kMostLineBlocks = 1 << 18;

// The machine's tiers under any eviction policies, shared by all VMs or statically divided among
// groups of VMs. There are no decisions; this is the data path alone.
class Hierarchy final : public System {
 public:
  struct Params : DataPathParams {
    PerVm groups;
    PerVm shares;
    Count line = 1;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"groups", &Params::groups,
                    "group of each VM, as a number; VMs of one group share a partition of each "
                    "tier; a VM not named is in group 0",
                    0},
              Field{"shares", &Params::shares,
                    "weight of each VM in the size of its group's partition; a VM not named has "
                    "weight 1",
                    0},
              Field{"line", &Params::line,
                    "blocks per line; a miss loads one block, and eviction removes a whole line", 1,
                    kMostLineBlocks}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hierarchy",
      .summary =
          "Runs the data path alone, under any policies; VMs or groups of VMs share the tiers.",
      .reference = "no publication: the data path of all systems, without decisions"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Hierarchy>(std::move(params), std::move(context));
  }
  Hierarchy(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.line_blocks = static_cast<std::uint32_t>(params_.line);
    return experiment;
  }
  bool counts_bytes() const override { return true; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
