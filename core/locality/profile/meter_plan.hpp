#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/locality/profile/trace_meter.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/intervals.hpp"

// The plan of `characterise`: the meters that still need to be measured.
namespace mcsim {

// The spec without fields that only affect reading. Meters with equal results of this function
// share one measurement.
MeterSpec measured_as(const MeterSpec& spec);

// Whether the meter only needs the curves of the whole trace, which every pass computes.
bool is_whole(const MeterSpec& spec);

// The first cut is 0.
std::shared_ptr<const Cuts> cuts_of(std::span<const Piece> periods);

// Inputs that the meters of a plan need for each access, apart from its distance.
struct PassInputs {
  bool reads_apart = false;          // distances of reads among each other
  bool reads_around = false;         // the same in a cache that writes go around
  bool operations = false;           // of each access
  bool previous_operations = false;  // of the previous access to its block
};

// Meters that are read at the same times.
struct TimerGroup {
  TimerClock clock;
  std::vector<Piece> periods;
  std::shared_ptr<const Cuts> cuts;
  struct Meter {
    MeterSpec spec;
    std::vector<Piece> windows;
    std::shared_ptr<MeterValues> measured;
  };
  std::vector<Meter> meters;
};

// The measurements of a trace that are not known yet, without duplicates.
class MeterPlan {
 public:
  MeterPlan(const Accesses& trace, std::span<const MeterSpec> specs,
            std::span<const Characterised> known);

  const PassInputs& inputs() const { return inputs_; }
  std::span<TimerGroup> groups() { return groups_; }
  MeterSetup setup(const TimerGroup& group, const TimerGroup::Meter& meter) const;

  // Returns null if the curves are not known.
  std::shared_ptr<const std::vector<HitCurve>> known_curves() const;
  // Whether no pass over the trace is needed.
  bool is_all_known() const;
  // Returns the result for a spec; `whole_curves` is for meters with foresight of the whole trace.
  absl::StatusOr<MeterResult> metered(
      const MeterSpec& spec, const std::shared_ptr<const std::vector<HitCurve>>& whole_curves);

 private:
  TimerGroup& group_of(const TimerClock& clock);
  const MeterResult* find_known(const MeterSpec& wanted) const;
  void make_room(TimerGroup& group, TimerGroup::Meter& meter) const;

  const Accesses& trace_;
  std::span<const Characterised> known_;
  bool has_writes_;
  PassInputs inputs_;
  std::vector<TimerGroup> groups_;
};

}  // namespace mcsim
