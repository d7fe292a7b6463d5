#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// REMOCA: the machine's last tier is memory of remote hosts, and holds victims of the tiers above.
// Its device models the distance. When the remote hosts fail, the tier is lost: its blocks leave,
// and dirty ones are written to the backend. The aim is fewer accesses to the backend.
class Remoca final : public System {
 public:
  struct Params : DataPathParams {
    Duration fails_at{0};
    Duration returns_at{0};

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"fails_at", &Params::fails_at,
                    "time since the start of the trace at which the last tier fails (0: never)", 0},
              Field{"returns_at", &Params::returns_at,
                    "time since the start of the trace at which it returns, empty (0: never)", 0}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "remoca",
      .summary = "Caches victims in the memory of remote hosts, which may fail (REMOCA).",
      .reference =
          "Chen, Wang, Wang, Wen, Jin, Luo, Li: REMOCA: Hypervisor remote disk cache, ISPA 2009"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Remoca(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  std::vector<Timer> timers() const override;
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
