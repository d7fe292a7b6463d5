#pragma once

#include <memory>
#include <tuple>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// Each VM has a fixed partition of each tier: equal parts, or parts in proportion to `shares`. A VM
// has exactly the hits that it would have alone with its partition.
class StaticPartition final : public System {
 public:
  struct Params : DataPathParams {
    PerVm shares;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{Field{"shares", &Params::shares,
                           "weight of each VM's partition; a VM not named has weight 1", 0}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "static",
      .summary = "Gives each VM a fixed partition of every tier.",
      .reference =
          "Static baseline of the Multi-Cache code and of thin provisioning "
          "(Mylar Balasubramanya, 2012)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<StaticPartition>(std::move(params), std::move(context));
  }
  StaticPartition(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  bool counts_bytes() const override { return true; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
