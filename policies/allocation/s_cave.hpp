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
  kWss,   // the working set: blocks that were accessed
  kRecs,  // the effective cache space: blocks of the cache that were hit
};

template <>
struct Choices<ScaveMetric> {
  static constexpr std::array names{std::pair{"wss", ScaveMetric::kWss},
                                    std::pair{"recs", ScaveMetric::kRecs}};
};

// S-CAVE: chunks move from the VMs that make least use of their space to those that would make
// most of more. What a VM's working set asks for, or how much of its space was of use, in parts of
// what it has, is its score; where it does not fill its part, so much less. A VM that got a chunk,
// filled its part and hits hardly better is unfriendly to caches: for a few periods it scores
// lowest of all, and shrinks.
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
                    "what a VM's score is of: what it accessed, as others cite it, or what was hit "
                    "of what it has; the source is silent"},
              Field{"full", &Params::full,
                    "share of its part that a VM fills if it is full; the source is silent", 0, 1},
              Field{"gain", &Params::gain,
                    "what its hit ratio has to gain by a chunk for a full VM to stay friendly; the "
                    "source is silent"},
              Field{"unfriendly", &Params::unfriendly,
                    "periods that a VM is taken for unfriendly; the source is silent", 0},
              Field{"threshold", &Params::threshold,
                    "by how much scores have to differ for a chunk to move; the source is silent",
                    0},
              Field{"pairs", &Params::pairs,
                    "chunks that move in a period, between VMs of their own each; the source is "
                    "silent",
                    0},
          },
          ChunkMover::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "s-cave",
      .summary = "S-CAVE: chunks move to the VMs whose working sets ask for more than they have.",
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
    double hit_ratio = 0;   // in the last period that had accesses
    bool received = false;  // in the last period
    Count unfriendly = 0;   // periods to come
  };

  double score(const Observation& seen, std::size_t vm, Count blocks);

  Params params_;
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
