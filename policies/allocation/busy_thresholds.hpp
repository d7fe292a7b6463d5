#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

// Thresholds of requests and misses per window above which a VM is busy. They are parameters, or
// derived from the means of the VM's busiest windows so far.
class BusyThresholds {
 public:
  struct Params {
    PerVm request_thresholds;
    PerVm miss_thresholds;
    Count busy_windows = 12;
    double busy_requests = 0.25;
    double busy_misses = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"request_thresholds", &Params::request_thresholds,
                "threshold of requests per window of each VM; a VM not named gets a threshold from "
                "its busiest windows"},
          Field{"miss_thresholds", &Params::miss_thresholds,
                "threshold of misses per window of each VM (a ratio or a count, see `misses`); a "
                "VM not named gets a threshold from its busiest windows"},
          Field{"busy_windows", &Params::busy_windows,
                "number of busiest windows of a VM from which its thresholds are derived; before "
                "it has had this number of windows with requests, it does not borrow or lend; the "
                "publication calibrates in runs under heavy load",
                1, 10'000},
          Field{"busy_requests", &Params::busy_requests,
                "threshold of requests, as a multiple of the mean requests in the busiest windows; "
                "not specified in the publication",
                0},
          Field{"busy_misses", &Params::busy_misses,
                "threshold of misses, as a multiple of the mean misses in the busiest windows; not "
                "specified in the publication",
                0}};
    }
  };
  struct Window {
    double requests = 0;
    double misses = 0;
  };

  explicit BusyThresholds(Params params) : params_(std::move(params)) {}
  absl::Status begin(std::span<const VmInfo> vms);

  // Add a window in which the VM had requests. Among windows with equal requests, the earlier one
  // counts as busier.
  void add(std::size_t vm, Window window);
  // Return the thresholds of a VM; none while a threshold is not a parameter and there are too few
  // windows.
  std::optional<Window> of(std::size_t vm) const;

 private:
  struct State {
    Window given;                 // below 0: not given
    std::vector<Window> busiest;  // the most requests first
  };

  Params params_;
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
