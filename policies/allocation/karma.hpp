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
  kDistinct,  // the blocks that were accessed
  kCurve,     // the smallest size that has most of the hits that there are
};

template <>
struct Choices<Demand> {
  static constexpr std::array names{std::pair{"distinct", Demand::kDistinct},
                                    std::pair{"curve", Demand::kCurve}};
};

// Karma: each VM is sure of a part of its fair share, and asks for what it needs. What it does
// not need of that part it lends, and what nobody is sure of is there to be shared: blocks of
// both go one by one to the VM that has most credits of those that need more, for a credit. It
// goes to the VM with fewest credits of those that lend, as long as they have something to
// lend; what was paid for shared blocks goes back to all in equal parts. So credits tell who
// gave over time and who took, and their sum never changes. They begin at 0 and may fall below
// it: only differences count. What nobody needs nobody gets.
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
                    "share of its fair share that a VM is sure of; 0: everything is lent, 1: fair "
                    "shares, of which only what is not needed is",
                    0, 1},
              Field{"demand", &Params::demand, "what a VM needs; the source is told it"},
              Field{"window", &Params::window,
                    "of what a VM accessed (0: a period), a whole number of periods; the source is "
                    "silent",
                    0},
              Field{"enough", &Params::enough,
                    "share of the most hits that make a size of the curve enough; the source is "
                    "silent",
                    0, 1},
          },
          DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "karma",
      .summary = "Karma: who needs less than the fair share earns credits to borrow with later.",
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

// `supply` blocks go one by one to whoever has most credits of those that want more, for a
// credit, the first on a tie: how many each has in the end.
std::vector<Count> lend(std::span<const Count> credits, std::span<const Count> wanted,
                        Count supply);

}  // namespace mcsim
