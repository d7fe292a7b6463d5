#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "policies/allocation/extent_placer.hpp"

namespace mcsim {

// What of its accesses counts for an extent.
enum class Counted : std::uint8_t {
  kBlocks,
  kSmallReads,  // reads of at most 16 KiB, of which a disk does few
};

template <>
struct Choices<Counted> {
  static constexpr std::array names{std::pair{"blocks", Counted::kBlocks},
                                    std::pair{"small-reads", Counted::kSmallReads}};
};

// vFRM: a flash resource manager places coarse chunks by how often they were accessed, once an
// epoch instead of at every access. The chunk and the epoch are those of ExtentPlacer; how much of
// the past counts the source does not say. By small reads alone, it is how the drives that
// join flash and a disk are proposed to be filled (Payer et al.: Combo drive, WISH 2009).
class Vfrm final : public ExtentPlacer {
 public:
  struct Params : ExtentPlacer::Params {
    double memory = 0.5;
    Counted counts = Counted::kBlocks;

    static constexpr auto fields() {
      return std::tuple_cat(
          ExtentPlacer::Params::fields(),
          std::tuple{Field{"memory", &Params::memory,
                           "what a count is worth an epoch later (0: nothing); the source is "
                           "silent",
                           0, 1},
                     Field{"counts", &Params::counts,
                           "what is counted: blocks, or reads of at most 16 KiB of blocks"}});
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "vfrm",
      .summary = "vFRM: the most accessed extents live in the faster tiers.",
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
