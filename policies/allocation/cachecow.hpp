#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/allocation/divided_cache.hpp"

namespace mcsim {

// CacheCOW: a VM whose mean latency exceeds its target gets a chunk from the VM with the lowest
// latency relative to its own target. While all VMs meet their targets, a chunk moves to where it
// gains most hits. The gain and the loss of hits come from an LRU list of each VM's accesses: hits
// in the ghosts beyond its partition, and hits in the tail of the partition. Hit counts of a period
// are compared, not ratios, so that VMs with more accesses weigh more.
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
                    "target of the mean latency of each VM, in ms; a VM not named has no target"},
              Field{"ghost", &Params::ghost,
                    "length of the ghost list and of the tail, as a share of the cache; not "
                    "specified in the publication",
                    0, 1},
          },
          ChunkMover::Params::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "cachecow",
      .summary =
          "Moves chunks of cache to VMs above their latency targets, else to where they gain most "
          "hits (CacheCOW).",
      .reference =
          "Goyal, Jadav, Modha, Tewari: CacheCOW: QoS for storage system caches, IWQoS 2003"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<CacheCow>(std::move(params), std::move(context));
  }
  CacheCow(const Params& params, SystemContext context)
      : ChunkMover(params, std::move(context)), params_(params) {}

  std::vector<Meter> meters() const override {
    return with_around({{.what = CurveMeter{.scope = DistanceScope::kWarm}}});
  }

 protected:
  absl::Status begin(const Accesses& trace, std::vector<Count>&) override;
  std::string divide(const Observation& seen, std::vector<Count>& blocks) override;

 private:
  // State of a VM at the end of a period.
  struct Now {
    double waits = 0;  // mean latency / target
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
