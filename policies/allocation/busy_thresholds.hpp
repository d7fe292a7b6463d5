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

// From how many requests and misses in a window on a VM is busy: as given, or by the means of its
// busiest windows so far.
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
                "requests a window of each VM; one not named has those of its busiest windows"},
          Field{"miss_thresholds", &Params::miss_thresholds,
                "misses of each VM; one not named has those of its busiest windows"},
          Field{"busy_windows", &Params::busy_windows,
                "how many windows of a VM with most requests give its thresholds; until it had "
                "so many with requests it neither borrows nor gives. The source calibrates by "
                "runs under heavy load",
                1, 10'000},
          Field{"busy_requests", &Params::busy_requests,
                "threshold of requests, by their mean in the busiest windows; the source is "
                "silent",
                0},
          Field{"busy_misses", &Params::busy_misses,
                "threshold of misses, by their mean in the busiest windows; the source is "
                "silent",
                0}};
    }
  };
  struct Window {
    double requests = 0;
    double misses = 0;
  };

  explicit BusyThresholds(Params params) : params_(std::move(params)) {}
  absl::Status begin(std::span<const VmInfo> vms);

  // A window of the VM with requests. Of windows with as many the earlier one is the busier.
  void add(std::size_t vm, Window window);
  // None until there were enough windows to tell what was not given.
  std::optional<Window> of(std::size_t vm) const;

 private:
  struct State {
    Window given;                 // below 0: not
    std::vector<Window> busiest;  // most requests first
  };

  Params params_;
  std::vector<State> states_;  // by VM
};

}  // namespace mcsim
