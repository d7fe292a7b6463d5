#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/placed_host.hpp"
#include "core/engine/system.hpp"

namespace mcsim {

// A system that moves extents instead of caching blocks: every epoch those that score most come
// into the fastest tier as far as they fit, the next into the next, the rest to the backend. A
// member states what a request adds to the score of an extent, and what becomes of scores when
// an epoch ends.
class ExtentPlacer : public System {
 public:
  struct Params {
    Duration epoch{1800 * kSecond};
    Count extent = 256;
    double rate = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"epoch", &Params::epoch, "between two placements", 1},
          Field{"extent", &Params::extent, "blocks of an extent", 1, 1 << 18},
          Field{"rate", &Params::rate,
                "blocks a second that may move, on average over an epoch (0: no limit)", 0},
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
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 protected:
  ExtentPlacer(const Params& params, SystemContext context)
      : params_(params), machine_(std::move(context.machine)) {}

  // What an access adds to the score of its extent.
  virtual double score(const ExtentAccess& access, Count block_bytes) const = 0;
  // Scores as they are for the epoch that begins.
  virtual void end_epoch(std::vector<double>& scores) const = 0;

 private:
  std::vector<std::size_t> wanted() const;
  std::vector<Placement> moves_to(const std::vector<std::size_t>& wanted) const;
  std::size_t most_moves() const;

  Params params_;
  Machine machine_;
  Count extent_blocks_ = 1;          // as the trace has them
  std::vector<double> scores_;       // by extent
  std::vector<std::size_t> placed_;  // by extent: its tier, or the backend
  std::vector<VmId> vm_of_;          // by extent
};

}  // namespace mcsim
