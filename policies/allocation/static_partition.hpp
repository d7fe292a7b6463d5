#pragma once

#include <memory>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/exclusive_lru.hpp"
#include "core/engine/system.hpp"

namespace mcsim {

// Every VM gets a fixed part of each tier, once and for all: equal parts, or
// parts in proportion to `shares`. A VM hits exactly what an LRU of its own
// space hits on its own stream.
class StaticPartition final : public System {
 public:
  struct Params {
    PerVm shares;

    static constexpr auto fields() {
      return std::tuple{Field{"shares", &Params::shares,
                              "relative size of each VM's part; a VM not named counts 1", 0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "static",
      .summary = "Static partition: each VM its own fixed part of every tier.",
      .reference =
          "Static baseline of the Multi-Cache code and of thin provisioning (thesis, 2012)"};

  StaticPartition(Params params, SystemContext context)
      : params_(std::move(params)), machine_(std::move(context.machine)) {}

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 private:
  Params params_;
  Machine machine_;
};

}  // namespace mcsim
