#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/hosts/placed_host.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// A base class of systems that move extents between devices instead of caching blocks. A subclass
// defines the score that a request adds to its extent, and how scores change at the end of an
// epoch. Scores determine the target tier of every extent. By default the extents with the highest
// scores go to the fastest tier until it is full, the next ones to the next tier, and the rest to
// the backend.
class ExtentPlacer : public System {
 public:
  struct Params {
    Duration epoch{1800 * kSecond};
    Count extent = 256;
    double rate = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"epoch", &Params::epoch,
                "time between two placements; not specified in the publication", 1},
          Field{"extent", &Params::extent,
                "size of an extent in blocks; not specified in the publication", 1, 1 << 18},
          Field{"rate", &Params::rate,
                "maximum number of blocks moved per second, averaged over an epoch (0: no limit); "
                "not specified in the publication",
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
  bool can_delay_hits() const override { return false; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  ExtentPlacer(const Params& params, SystemContext context)
      : params_(params), machine_(std::move(context.machine)) {}

  // Return the amount that an access adds to the score of its extent.
  virtual double score(const ExtentAccess& access, Count block_bytes) const = 0;
  // Update the scores at the end of an epoch.
  virtual void end_epoch(std::vector<double>& scores) const = 0;
  // Return the area of the fastest tier that takes writes to extents of the backend.
  virtual WriteArea write_area() const { return {}; }
  // Return the target tier of each extent; the number of tiers stands for the backend. No tier gets
  // more extents than fit.
  virtual std::vector<std::size_t> wanted() const;

  const Machine& machine() const { return machine_; }
  Nanoseconds epoch() const { return params_.epoch.ns; }
  Count block_bytes() const { return block_bytes_; }
  Count extent_bytes() const { return extent_blocks_ * block_bytes_; }
  // Return the number of extents that fit in each tier.
  std::vector<Count> rooms() const;
  const std::vector<double>& scores() const { return scores_; }
  const std::vector<std::size_t>& placed() const { return placed_; }

 private:
  struct Travellers {
    std::vector<std::size_t> coming;
    std::vector<std::vector<std::size_t>> leaving;  // [current tier]
  };
  Travellers travellers_to(const std::vector<std::size_t>& wanted) const;
  std::vector<Placement> moves_to(const std::vector<std::size_t>& wanted) const;
  std::size_t most_moves() const;

  Params params_;
  Machine machine_;
  Count extent_blocks_ = 1;  // from the trace
  Count block_bytes_ = 1;
  std::vector<double> scores_;       // by extent
  std::vector<std::size_t> placed_;  // by extent: its tier, or the backend
  std::vector<VmId> vm_of_;          // by extent
};

}  // namespace mcsim
