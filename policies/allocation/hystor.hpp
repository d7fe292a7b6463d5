#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// What the size of a request is.
enum class SizeOf : std::uint8_t {
  kRequest,  // bytes as they were asked for
  kBlocks,   // the blocks that it touches, whole
};

template <>
struct Choices<SizeOf> {
  static constexpr std::array names{std::pair{"request", SizeOf::kRequest},
                                    std::pair{"blocks", SizeOf::kBlocks}};
};

// Hystor: what is cheap for a fast device and dear for a disk lives in the fast one. A request of
// N sectors adds 2^max(0, 7 - floor(log2 N)) to the cost of what it touches, so that small and
// frequent ones count most. Costs go on from epoch to epoch; those of all are halved when one is
// saturated. Its write-back area takes what is written elsewhere. Its class of metadata blocks
// needs hints that traces do not have.
class Hystor final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double saturation = 65'535;
    double write_area = 0;
    double high_water = 1;
    SizeOf size = SizeOf::kRequest;

    static constexpr auto fields() {
      return std::tuple_cat(ExtentPlacer::Params::fields(),
                            std::tuple{Field{"saturation", &Params::saturation,
                                             "cost from which on all are halved; the source is "
                                             "silent",
                                             1},
                                       Field{"write_area", &Params::write_area,
                                             "share of the first tier that is for blocks written "
                                             "to extents of the backend; the source is silent",
                                             0, 1},
                                       Field{"high_water", &Params::high_water,
                                             "share of that area that may be dirty; the oldest "
                                             "beyond it are written back; the source is silent",
                                             0, 1},
                                       Field{"size", &Params::size,
                                             "sectors of a request: the source's, which it asked "
                                             "for, if the trace tells; or all of the blocks that "
                                             "it touches"}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hystor",
      .summary = "Hystor: extents that cost a disk most live in the faster tiers.",
      .reference =
          "Chen, Koufaty, Zhang: Hystor: making the best use of solid state drives in "
          "high performance storage systems, ICS 2011"};

  Hystor(const Params& params, SystemContext context)
      : ExtentPlacer(params, std::move(context)), params_(params) {}

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.bytes = experiment.bytes || params_.size == SizeOf::kRequest;
    return ExtentPlacer::trace_view(experiment);
  }

  // Of one request, by its size.
  static double cost(Count sectors) {
    const auto whole = static_cast<std::uint64_t>(std::max<Count>(sectors, 1));
    const int log2 = static_cast<int>(std::bit_width(whole)) - 1;
    return static_cast<double>(1 << std::max(0, 7 - log2));
  }

 protected:
  double score(const ExtentAccess& access, Count block_bytes) const override {
    const Count bytes = params_.size == SizeOf::kRequest ? access.request_bytes
                                                         : access.request_blocks * block_bytes;
    return cost((bytes + 511) / 512);
  }
  WriteArea write_area() const override {
    return write_area_of(machine(), params_.write_area, params_.high_water);
  }
  void end_epoch(std::vector<double>& scores) const override {
    while (!scores.empty() && std::ranges::max(scores) >= params_.saturation) {
      for (double& score : scores) score /= 2;
    }
  }

 private:
  Params params_;
};

}  // namespace mcsim
