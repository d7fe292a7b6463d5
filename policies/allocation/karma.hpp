#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/divided_cache.hpp"

namespace mcsim {

enum class Demand : std::uint8_t {
  kDistinct,  // the distinct blocks accessed
  kCurve,     // the smallest size with the share `enough` of the maximum hits
};

template <>
struct Choices<Demand> {
  static constexpr std::array names{std::pair{"distinct", Demand::kDistinct},
                                    std::pair{"curve", Demand::kCurve}};
};

// Karma: each VM is guaranteed the share alpha of its fair share, and has a demand. It lends the
// guaranteed blocks that it does not need. Blocks that are lent, and shared blocks that no VM is
// guaranteed, go one by one to the borrower with the most credits, for one credit each. The credit
// goes to the lender with the fewest credits that still has blocks to lend; credits paid for shared
// blocks return to all VMs in equal parts. Credits therefore record who lent and who borrowed over
// time, and their sum is constant. They start at 0 and may become negative, since only differences
// matter. Space beyond all demands stays free.
class Karma final : public DividedCache {
 public:
  struct Params : DividedCache::Params {
    double alpha = 0.5;
    Demand demand = Demand::kDistinct;
    Duration window{0};
    double enough = 0.9;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"alpha", &Params::alpha,
                    "guaranteed share of a VM's fair share (0: everything is shared, 1: only "
                    "unneeded blocks of the fair shares are lent)",
                    0, 1},
              Field{"demand", &Params::demand,
                    "demand of a VM: the distinct blocks it accessed, or the smallest size with "
                    "most of its hits; demands are an input in the publication"},
              Field{"window", &Params::window,
                    "time window of the demand, a whole number of periods (0: one period); not "
                    "specified in the publication",
                    0},
              Field{"enough", &Params::enough,
                    "with demand curve: share of the maximum hits that a size must reach; not "
                    "specified in the publication",
                    0, 1},
          },
          DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "karma",
      .summary =
          "Divides the cache by demand; VMs that use less than their fair share earn credits to "
          "borrow (Karma).",
      .reference =
          "Vuppalapati, Fikioris, Agarwal, Cidon, Khandelwal, Tardos: Karma: Resource allocation "
          "for dynamic demands, OSDI 2023"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Karma>(std::move(params), std::move(context));
  }
  Karma(const Params& params, SystemContext context)
      : DividedCache(params, std::move(context)), params_(params) {}

  std::vector<Meter> meters() const override;

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>&) override {
    credits_.assign(trace.vms.size(), 0);
    return absl::OkStatus();
  }
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  Count needed(const Observation& seen, std::size_t vm) const;

  Params params_;
  std::vector<Count> credits_;  // by VM
};

// Distribute `supply` blocks one by one to the VM with the most credits that still wants blocks,
// for one credit each, the first VM on a tie. Returns the blocks of each VM.
std::vector<Count> lend(std::span<const Count> credits, std::span<const Count> wanted,
                        Count supply);

}  // namespace mcsim
