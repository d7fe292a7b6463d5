#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/busy_thresholds.hpp"
#include "policies/allocation/divided_cache.hpp"

namespace mcsim {

enum class BorrowWhen : std::uint8_t {
  kUsed,       // used blocks exceed the threshold (the table)
  kRemaining,  // unused blocks are below the threshold (the text)
};
enum class MissMetric : std::uint8_t {
  kRatio,  // misses / accesses (the text)
  kCount,  // misses (the table)
};
enum class Twice : std::uint8_t {
  kUse,  // only the use of the cache (as printed)
  kAll,  // requests and misses too
};

template <>
struct Choices<BorrowWhen> {
  static constexpr std::array names{std::pair{"used", BorrowWhen::kUsed},
                                    std::pair{"remaining", BorrowWhen::kRemaining}};
};
template <>
struct Choices<MissMetric> {
  static constexpr std::array names{std::pair{"ratio", MissMetric::kRatio},
                                    std::pair{"count", MissMetric::kCount}};
};
template <>
struct Choices<Twice> {
  static constexpr std::array names{std::pair{"use", Twice::kUse}, std::pair{"all", Twice::kAll}};
};

// Thin provisioning: VMs start with equal parts. A VM with many requests, many misses, and a used
// partition borrows a quantum from a VM with few requests, few misses, and twice the quantum
// unused:
//
//   requests > threshold, misses > threshold, used > quantum          borrows
//   requests < threshold, misses < threshold, unused > 2 · quantum    gives
//   otherwise                                                         keeps its space
//
// A VM with many misses and few requests keeps its space; a note names its replacement policy.
// Borrowers are served in descending order of misses / threshold, each from the donor with the
// largest quantum, then with more unused space. Thresholds are parameters, or follow from the
// busiest windows so far. Used blocks are cached and were accessed in the window.
class ThinProvisioning final : public DividedCache {
 public:
  struct Params : DividedCache::Params, BusyThresholds::Params {
    Params() { period = {60 * kSecond}; }
    double hypervisor = 0;
    double quantum = 0.25;
    BorrowWhen borrow_when = BorrowWhen::kUsed;
    MissMetric misses = MissMetric::kRatio;
    Twice twice = Twice::kUse;
    Count donor_windows = 2;
    bool eager_pool = false;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"hypervisor", &Params::hypervisor,
                    "share of the cache that is given to no VM; not specified in the publication",
                    0, 1},
              Field{"quantum", &Params::quantum,
                    "amount borrowed at once, and the threshold of used blocks, as a share of a "
                    "VM's initial space; not specified in the publication",
                    0, 0.5},
              Field{"borrow_when", &Params::borrow_when,
                    "condition on use for borrowing: used blocks above the quantum (the "
                    "publication's table), or unused blocks below it (its text)"},
              Field{"misses", &Params::misses,
                    "misses compared with the threshold: their count (the publication's table), or "
                    "their ratio (its text)"},
              Field{"twice", &Params::twice,
                    "conditions that must hold in the last two windows, not only in the last, for "
                    "a VM to borrow: the use of the cache (the publication's table), or all"},
              Field{"donor_windows", &Params::donor_windows,
                    "number of windows, 1 or 2, in which the conditions for giving must hold; not "
                    "specified in the publication",
                    1, 2},
              Field{"eager_pool", &Params::eager_pool,
                    "whether donors give at once to a pool from which VMs borrow first, as in the "
                    "publication's pseudo-code"},
          },
          BusyThresholds::Params::fields(), DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "thin",
      .summary =
          "Lets busy VMs with many misses borrow space from idle VMs that hit (thin provisioning).",
      .reference = "Mylar Balasubramanya: thesis on thin provisioning, Wichita State Univ., 2012"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  ThinProvisioning(const Params& params, SystemContext context)
      : DividedCache(params, std::move(context)), params_(params), thresholds_(params) {}

  std::vector<Meter> meters() const override { return {{.what = LoadMeter{}}}; }
  std::optional<ProbeSpec> probe() const override { return ProbeSpec{}; }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>& blocks) override;
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  // State of a VM in a window.
  struct Window {
    bool busy = false;    // more requests and misses than the thresholds
    bool idle = false;    // fewer requests and misses than the thresholds
    bool used = false;    // enough to borrow
    bool unused = false;  // enough to give
  };
  struct State {
    std::string vm;  // name of the VM
    Count quantum = 0;
    Window last = {};
  };
  // Verdict on a VM at the end of a window.
  struct Now {
    bool borrows = false;
    bool gives = false;
    bool evicts_wrong = false;
    double over = 0;  // misses / threshold
    Count unused = 0;
  };

  Now judge(const Observation& seen, std::size_t vm, Count blocks);

  Params params_;
  BusyThresholds thresholds_;
  Count for_vms_ = 0;          // blocks that are divided
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
