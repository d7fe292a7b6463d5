#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// vFRM: a flash resource manager places coarse chunks by how often they were accessed, once an
// epoch instead of at every access. The chunk and the epoch are those of ExtentPlacer; how much of
// the past counts is left open by the public text.
class Vfrm final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double memory = 0.5;

    static constexpr auto fields() {
      return std::tuple_cat(
          ExtentPlacer::Params::fields(),
          std::tuple{Field{"memory", &Params::memory,
                           "what a count is worth an epoch later (0: nothing; the source does "
                           "not say)",
                           0, 1}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "vfrm",
      .summary = "vFRM: the most accessed extents live in the faster tiers.",
      .reference =
          "Tai, Liu, et al.: vFRM: Flash resource manager in VMware ESX server, "
          "NOMS 2014"};

  Vfrm(const Params& params, SystemContext context)
      : ExtentPlacer(params, std::move(context)), memory_(params.memory) {}

 protected:
  double score(const ExtentAccess& access, Count) const override {
    return static_cast<double>(access.blocks);
  }
  void end_epoch(std::vector<double>& scores) const override {
    for (double& score : scores) score *= memory_;
  }

 private:
  double memory_;
};

}  // namespace mcsim
