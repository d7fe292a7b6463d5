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
  kUsed,       // more than the threshold is used (the table)
  kRemaining,  // less than the threshold is left (the text)
};
enum class MissMetric : std::uint8_t {
  kRatio,  // misses by accesses (the text)
  kCount,  // misses (the table)
};
enum class Twice : std::uint8_t {
  kUse,  // the use of the cache (as printed)
  kAll,  // requests and misses, too
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

// Thin provisioning: VMs begin with equal parts, and one that is busy, misses and uses its part
// borrows a quantum from one that is idle, hits and has twice as much unused:
//
//   requests > theirs, misses > theirs, used > quantum        borrows
//   requests < theirs, misses < theirs, unused > 2 · quantum   gives
//   else                                                       keeps what it has
//
// One that misses more and asks less keeps it, too, for its replacement policy is at fault: a note.
//
// Those with most misses for their threshold borrow first, and each from the one that offers
// most, the one with more unused space on a tie. A VM's thresholds of requests and misses are
// given, or those of its busiest windows so far. Used are blocks that are held and were touched
// in the window, so that a VM that was busy once gives what it left behind.
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
                    "share of the cache that no VM gets; the source is silent", 0, 1},
              Field{"quantum", &Params::quantum,
                    "what is borrowed at once, and the threshold of use: share of what a VM has at "
                    "first; the source is silent",
                    0, 0.5},
              Field{
                  "borrow_when", &Params::borrow_when,
                  "which use makes a VM borrow: the source's table says used, its text remaining"},
              Field{"misses", &Params::misses,
                    "what of misses is compared: the source's table says count, its text ratio"},
              Field{
                  "twice", &Params::twice,
                  "what has to hold in the last two windows and not in the last alone for a VM to "
                  "borrow: the source's table says the use"},
              Field{"donor_windows", &Params::donor_windows,
                    "windows, 1 or 2, in which all has to hold for a VM to give; the source is "
                    "silent",
                    1, 2},
              Field{"eager_pool", &Params::eager_pool,
                    "those that can give do at once, to a pool from which VMs borrow first, as the "
                    "source's pseudo-code has it"},
          },
          BusyThresholds::Params::fields(), DividedCache::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "thin",
      .summary = "Thin provisioning: busy VMs that miss borrow from idle ones that hit.",
      .reference =
          "Mylar Balasubramanya: Enhancement of cache utilization by isolation and thin "
          "provisioning of hypervisor cache, thesis, Wichita State University, 2012"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  ThinProvisioning(const Params& params, SystemContext context)
      : DividedCache(params, std::move(context)), params_(params), thresholds_(params) {}

  std::vector<Meter> meters() const override { return {{.what = LoadMeter{}}}; }
  std::optional<ProbeSpec> probe() const override { return ProbeSpec{}; }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>& blocks) override;
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  // What a window said of a VM.
  struct Window {
    bool busy = false;    // more requests and misses than the thresholds
    bool idle = false;    // less
    bool used = false;    // enough to borrow
    bool unused = false;  // enough to give
  };
  struct State {
    std::string vm;  // its name
    Count quantum = 0;
    Window last = {};
  };
  // A VM as a window ends.
  struct Now {
    bool borrows = false;
    bool gives = false;
    bool evicts_wrong = false;
    double over = 0;  // misses by their threshold
    Count unused = 0;
  };

  Now judge(const Observation& seen, std::size_t vm, Count blocks);

  Params params_;
  BusyThresholds thresholds_;
  Count for_vms_ = 0;          // blocks that are divided
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
