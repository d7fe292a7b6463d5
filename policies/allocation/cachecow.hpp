#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/divided_cache.hpp"

namespace mcsim {

// CacheCOW: a VM that waits longer than it is promised gets a chunk from the one that is best off
// by its own promise; when all are well off, a chunk moves where it brings most hits. What a VM
// would hit with more space or less, an LRU list of its accesses says: the hits in the ghosts
// beyond its part, and in the tail of it. Hits of a period, not ratios, are compared, so that
// those who ask more often count for more.
class CacheCow final : public ChunkMover {
 public:
  struct Params : ChunkMover::Params {
    Params() { period = {300 * kSecond}; }
    PerVm latency_ms;
    double ghost = 0.1;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"latency_ms", &Params::latency_ms,
                    "mean latency that a VM is promised, in ms; nothing to one not named"},
              Field{"ghost", &Params::ghost,
                    "length of the ghosts, and of the tail: share of the cache; the source is "
                    "silent",
                    0, 1},
          },
          ChunkMover::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "cachecow",
      .summary = "CacheCOW: chunks go to VMs that miss their latencies, or to where most is hit.",
      .reference =
          "Goyal, Jadav, Modha, Tewari: CacheCOW: QoS for storage system caches, IWQoS 2003"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<CacheCow>(std::move(params), std::move(context));
  }
  CacheCow(const Params& params, SystemContext context)
      : ChunkMover(params, std::move(context)), params_(params) {}

  std::vector<Meter> meters() const override {
    return {{.what = CurveMeter{.scope = DistanceScope::kWarm}}};
  }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>&) override;
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  // A VM as a period ends.
  struct Now {
    double waits = 0;  // by what it is promised
    Count ghost = 0;   // hits
    Count tail = 0;
    bool waits_too_long() const { return waits > 1; }
  };

  std::string help_late(const std::vector<Now>& now, std::vector<bool> gives,
                        std::vector<Count>& blocks) const;
  void gain_hits(const std::vector<Now>& now, const std::vector<bool>& present,
                 std::vector<Count>& blocks) const;

  Params params_;
  std::vector<VmInfo> vms_;
  std::vector<double> promised_ns_;  // by VM
};

}  // namespace mcsim
