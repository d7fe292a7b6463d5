#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// Mixed caching: guests cache in their own memory, the first tier, above the host's cache, the
// second tier. Each VM has an equal part of both. The host's cache includes the blocks of the
// guests. The guests' memory therefore shrinks every period, down to a minimum share.
class MixedCaching final : public System {
 public:
  struct Params : DataPathParams {
    Duration period{0};
    double factor = 0.5;
    double least = 0.1;

    Params() { chain = Chain::kInclusive; }
    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"period", &Params::period,
                    "time between two reductions of guest memory (0: the interval of the "
                    "experiment); not specified in the publication",
                    0},
              Field{"factor", &Params::factor,
                    "share of a guest's memory that remains after a period; not specified in the "
                    "publication",
                    0, 1},
              Field{"least", &Params::least,
                    "minimum share of a guest's initial memory; not specified in the publication",
                    0, 1}},
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "mixed-caching",
      .summary =
          "Shrinks the guests' memory above an inclusive host cache every period (mixed caching).",
      .reference =
          "Singh: Page/slab cache control in a virtualized environment, Linux Symposium 2010"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  MixedCaching(Params params, SystemContext context)
      : params_(std::move(params)), context_(std::move(context)) {}

  std::vector<Timer> timers() const override;
  Actions host_supports() const override { return divided_host_supports(params_); }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  Params params_;
  SystemContext context_;
  Allocation first_;
};

}  // namespace mcsim
