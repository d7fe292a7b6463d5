#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/share.hpp"
#include "core/base/status.hpp"
#include "core/engine/counters.hpp"
#include "core/engine/machine.hpp"
#include "core/engine/system.hpp"
#include "core/trace/accesses.hpp"

// What VMs wait for, measured and predicted, and what they are promised of it.
namespace mcsim {

// What an access of the VM waited for, in the mean, as it was counted; 0 if it had none.
double mean_ns(const VmCounters& counted, const Machine& machine, const std::string& vm);

// The same of those accesses that a tier served; 0 if it served none.
double tier_mean_ns(const VmCounters& counted, const Machine& machine, std::size_t tier);

// The mean latency of VMs whose blocks are in as much of each tier as over_tiers() gives them,
// in an exclusive chain of LRU: with c blocks together, F_k of them in tiers 0..k, and a hit
// ratio of H(c),
//
//   L(c) = l_backend - Σ_k H(c F_k) (l_{k+1} - l_k)
//
// which with one tier is H l_tier + (1 - H) l_backend. Tiers come fastest first. Storage of a VM's
// own may be faster than the slowest of them: then blocks there make it wait longer.
class LatencyModel {
 public:
  LatencyModel() = default;
  LatencyModel(const Machine& machine, std::span<const VmInfo> vms);

  Count capacity() const { return capacity_; }

  // `ratio` gives the hit ratio of so many blocks.
  template <class Ratio>
  double mean_ns(std::size_t vm, Count blocks, const Ratio& ratio) const {
    double mean = backend_ns_[vm];
    for (std::size_t k = 0; k < share_.size(); ++k) {
      const double next = k + 1 < share_.size() ? tier_ns_[k + 1] : backend_ns_[vm];
      mean -= ratio(held(blocks, k)) * (next - tier_ns_[k]);
    }
    return mean;
  }

  // The fewest blocks with which an access waits no longer than that, or -1 if neither none nor all
  // are enough.
  template <class Ratio>
  Count least_for(double wanted_ns, std::size_t vm, const Ratio& ratio) const {
    if (backend_ns_[vm] <= wanted_ns) return 0;
    if (mean_ns(vm, capacity_, ratio) > wanted_ns) return -1;
    Count least = 0;
    for (Count most = capacity_; least < most;) {
      const Count middle = least + (most - least) / 2;
      const bool enough = mean_ns(vm, middle, ratio) <= wanted_ns;
      (enough ? most : least) = enough ? middle : middle + 1;
    }
    return least;
  }

 private:
  // Of so many blocks those in tiers 0..k.
  Count held(Count blocks, std::size_t k) const {
    return k + 1 == share_.size() ? blocks : floor_share(share_[k], blocks);
  }

  Count capacity_ = 0;
  std::vector<double> tier_ns_;
  std::vector<double> share_;       // F_k
  std::vector<double> backend_ns_;  // by VM
};

// The parameters of systems that promise latency.
struct LatencyGoals {
  PerVm latency_ms;
  PerVm iops;
  PerVm outstanding;

  static constexpr auto fields() {
    return std::tuple{
        Field{"latency_ms", &LatencyGoals::latency_ms,
              "mean latency that a VM is promised, in ms; nothing to one not named"},
        Field{"iops", &LatencyGoals::iops,
              "accesses a second that a VM is promised: by Little's law outstanding / latency"},
        Field{"outstanding", &LatencyGoals::outstanding,
              "accesses that a VM has under way at a time, 1 of one not named; 0: as many as "
              "requests were in the last interval, by the response times of the trace"},
    };
  }
  // The latency in ns by which a VM has all that it is promised; infinity where that is nothing,
  // and of a rate while nothing tells how many accesses are outstanding.
  absl::StatusOr<std::vector<double>> wanted_ns(std::span<const VmInfo> vms) const;
  // The same as a timer rings, by what the meters tell.
  std::vector<double> wanted_ns(std::span<const VmInfo> vms, const Observation& seen) const;

  // The meters of a system, and last that which tells of outstanding accesses, if one has to.
  std::vector<Meter> with_responses(std::vector<Meter> meters) const;

 private:
  bool asks_trace() const;
  absl::StatusOr<std::vector<double>> wanted_ns(std::span<const VmInfo> vms,
                                                std::span<const Responses> told) const;
};

// What VMs are sure of, and why it is less than they were promised, if it is.
class Promises {
 public:
  Promises(const LatencyModel& model, std::span<const VmInfo> vms)
      : least(vms.size(), 0), model_(model), vms_(vms) {}

  std::vector<Count> least;  // by VM
  std::string infeasible;

  // The VM is to wait no longer than that; nothing is promised if it is infinite.
  template <class Ratio>
  void promise(std::size_t vm, double wanted_ns, const Ratio& ratio) {
    if (std::isinf(wanted_ns)) return;
    const Count found = model_.least_for(wanted_ns, vm, ratio);
    if (found < 0) cannot_have(vm, wanted_ns, model_.mean_ns(vm, model_.capacity(), ratio));
    least[vm] = std::max<Count>(found, 0);
  }
  // Drops promises, those of the least priority first, and of these the last VM's, until the
  // rest fits.
  void fit(std::span<const double> priorities);

 private:
  void cannot_have(std::size_t vm, double wanted_ns, double best_ns);
  void complain(const std::string& why);

  const LatencyModel& model_;
  std::span<const VmInfo> vms_;
};

}  // namespace mcsim
