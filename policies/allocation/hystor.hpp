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

// The size of a request.
enum class SizeOf : std::uint8_t {
  kRequest,  // its bytes
  kBlocks,   // its whole blocks
};

template <>
struct Choices<SizeOf> {
  static constexpr std::array names{std::pair{"request", SizeOf::kRequest},
                                    std::pair{"blocks", SizeOf::kBlocks}};
};

// Hystor: keeps the extents that cost a disk most in the faster tiers. A request of N sectors adds
// 2^max(0, 7 - floor(log2 N)) to the cost of its extents, so that small and frequent requests weigh
// most. Costs accumulate over epochs; all are halved when one reaches saturation. A write-back area
// takes writes to extents of the backend. Hystor's class of metadata blocks is not modelled, since
// traces have no such hints.
class Hystor final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double saturation = 65'535;
    double write_area = 0;
    double high_water = 1;
    SizeOf size = SizeOf::kRequest;

    static constexpr auto fields() {
      return std::tuple_cat(
          ExtentPlacer::Params::fields(),
          std::tuple{
              Field{"saturation", &Params::saturation,
                    "cost at which all costs are halved; not specified in the publication", 1},
              Field{"write_area", &Params::write_area,
                    "share of the first tier reserved for blocks written to extents of the "
                    "backend; not specified in the publication",
                    0, 1},
              Field{"high_water", &Params::high_water,
                    "maximum share of that area that is dirty; the oldest blocks beyond it are "
                    "written back; not specified in the publication",
                    0, 1},
              Field{"size", &Params::size,
                    "size of a request in the cost: its bytes if the trace has them, as in the "
                    "publication (request), or its whole blocks (blocks)"}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hystor",
      .summary = "Keeps the extents whose requests cost a disk most in the faster tiers (Hystor).",
      .reference =
          "Chen, Koufaty, Zhang: Hystor: making the best use of solid state drives in "
          "high performance storage systems, ICS 2011"};

  Hystor(const Params& params, SystemContext context)
      : ExtentPlacer(params, std::move(context)), params_(params) {}

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.bytes = experiment.bytes || params_.size == SizeOf::kRequest;
    return ExtentPlacer::trace_view(experiment);
  }

  // Return the cost of one request by its size.
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
