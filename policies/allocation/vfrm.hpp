#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// The accesses that add to the score of an extent.
enum class Counted : std::uint8_t {
  kBlocks,
  kSmallReads,  // reads of at most 16 KiB, which are slow on a disk
};

template <>
struct Choices<Counted> {
  static constexpr std::array names{std::pair{"blocks", Counted::kBlocks},
                                    std::pair{"small-reads", Counted::kSmallReads}};
};

// vFRM: a flash resource manager that places coarse chunks by their number of accesses, once per
// epoch instead of at every access. Chunk size and epoch are the parameters of ExtentPlacer; the
// publication does not specify the weight of past epochs. Counting small reads alone gives the
// proposed placement for combined flash and disk drives (Payer et al.: Combo drive, WISH 2009).
class Vfrm final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double memory = 0.5;
    Counted counts = Counted::kBlocks;

    static constexpr auto fields() {
      return std::tuple_cat(ExtentPlacer::Params::fields(),
                            std::tuple{Field{"memory", &Params::memory,
                                             "weight of a count one epoch later (0: counts restart "
                                             "every epoch); not specified in the publication",
                                             0, 1},
                                       Field{"counts", &Params::counts,
                                             "accesses that are counted: all blocks, or reads of "
                                             "at most 16 KiB in whole blocks"}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "vfrm",
      .summary = "Keeps the most accessed extents in the faster tiers (vFRM).",
      .reference =
          "Tai, Liu, et al.: vFRM: Flash resource manager in VMware ESX server, "
          "NOMS 2014"};

  Vfrm(const Params& params, SystemContext context)
      : ExtentPlacer(params, std::move(context)), memory_(params.memory), counts_(params.counts) {}

 protected:
  double score(const ExtentAccess& access, Count block_bytes) const override {
    constexpr Count kSmall = 16 << 10;
    if (counts_ == Counted::kBlocks) return static_cast<double>(access.blocks);
    const bool small = access.request_blocks * block_bytes <= kSmall;
    return access.op == Op::kRead && small ? 1 : 0;
  }
  void end_epoch(std::vector<double>& scores) const override {
    for (double& score : scores) score *= memory_;
  }

 private:
  double memory_;
  Counted counts_;
};

}  // namespace mcsim
