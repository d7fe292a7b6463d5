#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/share.hpp"
#include "core/base/status.hpp"
#include "core/engine/model/counters.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/model/write_modes.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/trace/accesses.hpp"
#include "policies/allocation/mode_curves.hpp"
#include "policies/hosts/data_path.hpp"

// Latency of VMs: measured, predicted, and guaranteed.
namespace mcsim {

// Return the mean latency of the VM's accesses, from the blocks that each device served; 0 without
// accesses.
double mean_ns(const VmCounters& counted, const Machine& machine, const std::string& vm);

// Return the mean latency of the accesses that one tier served; 0 if it served none.
double tier_mean_ns(const VmCounters& counted, const Machine& machine, std::size_t tier);

// Accesses of one VM: `read_ratio(c)` is the share of its reads that hit in c blocks.
template <class Ratio>
struct AccessMix {
  double write_share = 0;  // of all accesses
  Ratio read_ratio;
};

// Mean latency of an access, predicted for LRU tiers that form an exclusive chain. A VM with c
// blocks has F_k c of them in tiers 0..k, as over_tiers() divides them. With H(c) the hit ratio of
// its reads and w the share of writes,
//
//   L(c)      = (1 - w) R(c) + w W(c)
//   R(c)      = r_backend - Σ_k H(F_k c) (r_{k+1} - r_k)
//   W(c)      = w_k of the first tier k that writes back and in which the VM has space,
//               w_backend if there is none
//
// Writes through and around wait for the backend. A write around also drops its block, as the curve
// of a VM that writes around does. Tiers come fastest first.
class LatencyModel {
 public:
  LatencyModel() = default;
  LatencyModel(const Machine& machine, std::span<const VmInfo> vms, ModesByTier modes);
  // Reads the modes from a data path's parameter `writes`.
  static absl::StatusOr<LatencyModel> make(const Machine& machine, std::span<const VmInfo> vms,
                                           std::string_view writes);

  // Meters of the reads' hits: among all accesses and, if the data path's `writes` names around, in
  // a cache that writes go around. An invalid `writes` is reported when the data path is made.
  static std::vector<Meter> read_meters(const Machine& machine, const DataPathParams& path,
                                        CurveMeter of);
  // The curve of a VM's reads, by read_meters().
  const RunningCurve& read_curve(const Observation& seen, std::size_t vm) const {
    return seen.meter(writes_around(vm) ? "read curve around" : "read curve").curves[vm];
  }

  // Whether no tier takes writes of the VM.
  bool writes_around(std::size_t vm) const { return around_[vm]; }

  Count capacity() const { return capacity_; }

  template <class Ratio>
  double mean_ns(std::size_t vm, Count blocks, const AccessMix<Ratio>& of) const {
    return (1 - of.write_share) * mean_read_ns(vm, blocks, of.read_ratio) +
           of.write_share * write_ns(vm, blocks);
  }

  template <class Ratio>
  double mean_read_ns(std::size_t vm, Count blocks, const Ratio& read_ratio) const {
    double mean = backend_read_ns_[vm];
    for (std::size_t k = 0; k < share_.size(); ++k) {
      const double next = k + 1 < share_.size() ? read_ns_[k + 1] : backend_read_ns_[vm];
      mean -= read_ratio(held(blocks, k)) * (next - read_ns_[k]);
    }
    return mean;
  }

  double write_ns(std::size_t vm, Count blocks) const;

  // The fewest blocks with which the mean latency is at most `wanted_ns`; -1 if even all blocks are
  // too few.
  template <class Ratio>
  Count least_for(double wanted_ns, std::size_t vm, const AccessMix<Ratio>& of) const {
    if (mean_ns(vm, 0, of) <= wanted_ns) return 0;
    if (mean_ns(vm, capacity_, of) > wanted_ns) return -1;
    Count least = 0;
    for (Count most = capacity_; least < most;) {
      const Count middle = least + (most - least) / 2;
      const bool enough = mean_ns(vm, middle, of) <= wanted_ns;
      (enough ? most : least) = enough ? middle : middle + 1;
    }
    return least;
  }

 private:
  // Return the number of blocks in tiers 0..k if the VM has `blocks` in all tiers.
  Count held(Count blocks, std::size_t k) const {
    return k + 1 == share_.size() ? blocks : floor_share(share_[k], blocks);
  }
  Count capacity_ = 0;
  std::vector<double> read_ns_;           // by tier
  std::vector<double> write_ns_;          // by tier
  std::vector<double> share_;             // F_k
  std::vector<double> backend_read_ns_;   // by VM
  std::vector<double> backend_write_ns_;  // by VM
  ModesByTier modes_;
  std::vector<bool> around_;  // by VM
};

// The parameters of systems with latency targets.
struct LatencyGoals {
  PerVm latency_ms;
  PerVm iops;
  PerVm outstanding;

  static constexpr auto fields() {
    return std::tuple{
        Field{"latency_ms", &LatencyGoals::latency_ms,
              "target of the mean latency of each VM, in ms; a VM not named has no target"},
        Field{"iops", &LatencyGoals::iops,
              "target of accesses per second of each VM, converted by Little's law: latency = "
              "outstanding / iops"},
        Field{"outstanding", &LatencyGoals::outstanding,
              "number of outstanding accesses of each VM, 1 for a VM not named; 0: the mean of the "
              "last interval, by the response times of the trace"},
    };
  }
  // Return the latency in ns that meets all targets of each VM. It is infinite without a target,
  // and for a target of `iops` while the number of outstanding accesses is not known.
  absl::StatusOr<std::vector<double>> wanted_ns(std::span<const VmInfo> vms) const;
  // Return the same when a timer fires, with the readings of the meters.
  std::vector<double> wanted_ns(std::span<const VmInfo> vms, const Observation& seen) const;

  // Append the meter of outstanding accesses if a VM needs it.
  std::vector<Meter> with_responses(std::vector<Meter> meters) const;

 private:
  bool needs_responses() const;
  absl::StatusOr<std::vector<double>> wanted_ns(std::span<const VmInfo> vms,
                                                std::span<const Responses> responses) const;
};

// The guaranteed sizes of VMs, and the reasons why they miss a target.
class Promises {
 public:
  Promises(const LatencyModel& model, std::span<const VmInfo> vms)
      : least(vms.size(), 0), model_(model), vms_(vms) {}

  std::vector<Count> least;  // by VM
  std::string infeasible;

  // Guarantee the VM the fewest blocks with this mean latency; an infinite latency needs none.
  template <class Ratio>
  void promise(std::size_t vm, double wanted_ns, const AccessMix<Ratio>& of) {
    if (std::isinf(wanted_ns)) return;
    const Count found = model_.least_for(wanted_ns, vm, of);
    if (found < 0) cannot_have(vm, wanted_ns, model_.mean_ns(vm, model_.capacity(), of));
    least[vm] = std::max<Count>(found, 0);
  }
  // Drop guarantees until the rest fits: those of the lowest priority first, and of equal
  // priorities the last VM's.
  void fit(std::span<const double> priorities);

 private:
  void cannot_have(std::size_t vm, double wanted_ns, double best_ns);
  void complain(const std::string& why);

  const LatencyModel& model_;
  std::span<const VmInfo> vms_;
};

}  // namespace mcsim
