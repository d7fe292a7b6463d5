#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/divided_cache.hpp"

namespace mcsim {

enum class ScaveMetric : std::uint8_t {
  kWss,   // working set size: distinct blocks accessed
  kRecs,  // effective cache space: distinct blocks hit
};

template <>
struct Choices<ScaveMetric> {
  static constexpr std::array names{std::pair{"wss", ScaveMetric::kWss},
                                    std::pair{"recs", ScaveMetric::kRecs}};
};

// S-CAVE: moves chunks from VMs that use their space least to VMs that would gain most by more. The
// score of a VM is its working set, or its effective cache space, divided by its size; while the VM
// does not fill its partition, the score is reduced in proportion. A VM that received a chunk,
// filled its partition, and did not improve its hit ratio is cache-unfriendly: for a few periods it
// has the lowest score, and shrinks.
class SCave final : public ChunkMover {
 public:
  struct Params : ChunkMover::Params {
    Params() { period = {300 * kSecond}; }
    ScaveMetric metric = ScaveMetric::kWss;
    double full = 0.95;
    double gain = 0.01;
    Count unfriendly = 3;
    double threshold = 0.1;
    Count pairs = 4;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"metric", &Params::metric,
                    "numerator of the score: distinct blocks accessed (wss), as others cite it, or "
                    "distinct blocks hit (recs); not specified in the publication"},
              Field{"full", &Params::full,
                    "share of its partition that a VM must fill to count as full; not specified in "
                    "the publication",
                    0, 1},
              Field{"gain", &Params::gain,
                    "minimum increase of the hit ratio after a chunk for a full VM to stay "
                    "cache-friendly; not specified in the publication"},
              Field{"unfriendly", &Params::unfriendly,
                    "number of periods for which a VM is treated as cache-unfriendly; not "
                    "specified in the publication",
                    0},
              Field{"threshold", &Params::threshold,
                    "minimum difference of two scores for a chunk to move; not specified in the "
                    "publication",
                    0},
              Field{"pairs", &Params::pairs,
                    "maximum number of chunks moved per period, each between a different pair of "
                    "VMs; not specified in the publication",
                    0},
          },
          ChunkMover::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "s-cave",
      .summary = "Moves chunks to VMs whose working sets exceed their space most (S-CAVE).",
      .reference =
          "Luo, Ma, Lee, Zhang, Liu, Zhou: S-CAVE: Effective SSD caching to improve virtual "
          "machine storage performance, PACT 2013"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<SCave>(std::move(params), std::move(context));
  }
  SCave(const Params& params, SystemContext context)
      : ChunkMover(params, std::move(context)), params_(params) {}

  std::vector<Meter> meters() const override {
    if (params_.metric == ScaveMetric::kRecs) return {};
    return {{.what = DistinctMeter{}}};
  }
  std::optional<ProbeSpec> probe() const override {
    if (params_.metric == ScaveMetric::kWss) return std::nullopt;
    return ProbeSpec{};
  }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>&) override {
    states_.assign(trace.vms.size(), {});
    return absl::OkStatus();
  }
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  struct State {
    double hit_ratio = 0;   // in the last period with accesses
    bool received = false;  // a chunk, in the last period
    Count unfriendly = 0;   // remaining periods
  };

  double score(const Observation& seen, std::size_t vm, Count blocks);

  Params params_;
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
