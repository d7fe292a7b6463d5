#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/hosts/placed_host.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// A system that moves extents instead of caching blocks. A member states what a request adds to
// the score of an extent, and what becomes of scores when an epoch ends; by them every extent has
// a tier in which it is wanted. Unless the member has another rule, those that score most are
// wanted in the fastest tier as far as they fit, the next in the next, the rest in the backend.
class ExtentPlacer : public System {
 public:
  struct Params {
    Duration epoch{1800 * kSecond};
    Count extent = 256;
    double rate = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"epoch", &Params::epoch, "between two placements; the source is silent", 1},
          Field{"extent", &Params::extent, "blocks of an extent; the source is silent", 1, 1 << 18},
          Field{"rate", &Params::rate,
                "blocks a second that may move, on average over an epoch (0: no limit); the source "
                "is silent",
                0},
      };
    }
  };

  ExpandOptions trace_view(ExpandOptions experiment) const override {
    experiment.line_blocks = static_cast<std::uint32_t>(params_.extent);
    return experiment;
  }
  std::vector<Timer> timers() const override {
    return {{.name = "epoch", .clock = {.period = params_.epoch.ns}}};
  }
  Actions actions() const override { return {Action::kPlacements}; }
  Actions host_supports() const override { return {Action::kPlacements}; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  ExtentPlacer(const Params& params, SystemContext context)
      : params_(params), machine_(std::move(context.machine)) {}

  // What an access adds to the score of its extent.
  virtual double score(const ExtentAccess& access, Count block_bytes) const = 0;
  // Scores as they are for the epoch that begins.
  virtual void end_epoch(std::vector<double>& scores) const = 0;
  // What of the fastest tier takes writes to extents of the backend.
  virtual WriteArea write_area() const { return {}; }
  // The tier in which each extent is wanted; the number of tiers stands for the backend. No tier
  // is wanted by more than fit.
  virtual std::vector<std::size_t> wanted() const;

  const Machine& machine() const { return machine_; }
  Nanoseconds epoch() const { return params_.epoch.ns; }
  Count block_bytes() const { return block_bytes_; }
  Count extent_bytes() const { return extent_blocks_ * block_bytes_; }
  // How many extents fit in each tier.
  std::vector<Count> rooms() const;
  const std::vector<double>& scores() const { return scores_; }
  const std::vector<std::size_t>& placed() const { return placed_; }

 private:
  struct Travellers {
    std::vector<std::size_t> coming;
    std::vector<std::vector<std::size_t>> leaving;  // by the tier that they are in
  };
  Travellers travellers_to(const std::vector<std::size_t>& wanted) const;
  std::vector<Placement> moves_to(const std::vector<std::size_t>& wanted) const;
  std::size_t most_moves() const;

  Params params_;
  Machine machine_;
  Count extent_blocks_ = 1;  // as the trace has them
  Count block_bytes_ = 1;
  std::vector<double> scores_;       // by extent
  std::vector<std::size_t> placed_;  // by extent: its tier, or the backend
  std::vector<VmId> vm_of_;          // by extent
};

}  // namespace mcsim
