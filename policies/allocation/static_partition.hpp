#pragma once

#include <memory>
#include <tuple>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// Every VM gets a fixed part of each tier, once and for all: equal parts, or
// parts in proportion to `shares`. A VM hits exactly what it would alone with
// its own space.
class StaticPartition final : public System {
 public:
  struct Params : DataPathParams {
    PerVm shares;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{Field{"shares", &Params::shares,
                           "relative size of each VM's part; a VM not named counts 1", 0}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "static",
      .summary = "Static partition: each VM its own fixed part of every tier.",
      .reference =
          "Static baseline of the Multi-Cache code and of thin provisioning "
          "(Mylar Balasubramanya, 2012)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<StaticPartition>(std::move(params), std::move(context));
  }
  StaticPartition(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
