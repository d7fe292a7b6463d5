#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/profile/meter_plan.hpp"
#include "core/locality/profile/trace_meter.hpp"
#include "core/trace/accesses.hpp"

// One VM's part of the pass over the trace: distances of its accesses, and its meters.
namespace mcsim {

// Accesses of one VM, request by request, with the inputs of the meters. All passes of a thread
// share the memory.
struct Batch {
  // Distances of a stream, and the blocks that leave its stack.
  struct Distances {
    std::vector<Count> of_accesses;
    std::vector<Removal> removals;
  };

  std::span<const std::size_t> requests;
  std::span<const Discard> discards;  // before these requests
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> read_blocks;
  Distances all;    // one removal for each discard
  Distances reads;  // likewise
  Distances around;
  std::vector<std::uint8_t> writes;
  std::vector<std::uint8_t> written_before;
};

// The meters of one VM that are read at the same times.
class VmTimerGroup {
 public:
  VmTimerGroup(const Accesses& trace, const MeterPlan& plan, TimerGroup& group, VmId vm);

  void count(const Batch& batch);
  void finish();

  // In the order of the plan, without meters that need no pass.
  std::span<const std::unique_ptr<TraceMeter>> meters() const { return meters_; }

 private:
  // A position in a batch: among all accesses, among the reads, and among the removals.
  struct Place {
    std::size_t access = 0;
    std::size_t read = 0;
    std::size_t discard = 0;
    std::size_t removal_around = 0;
  };

  void count_between(const Batch& batch, std::span<const std::size_t> requests, Place begin,
                     Place end);
  void cut_before(std::size_t r);
  void end_periods_up_to(std::size_t discarded_before);
  void end_period();

  const Accesses& trace_;
  PassInputs inputs_;
  std::span<const Piece> periods_;
  std::vector<std::unique_ptr<TraceMeter>> meters_;
  std::size_t period_ = 0;
  std::size_t next_cut_ = 0;  // the request before which a period or window ends
};

// All measurements of one VM. It only reads the VM's requests, so passes of several VMs can run in
// parallel.
class VmPass {
 public:
  // `discards` are those of the VM.
  VmPass(const Accesses& trace, MeterPlan& plan, VmId vm, std::vector<Discard> discards);

  void replay(std::span<const std::size_t> requests, Batch& batch);
  void finish();

  HitCurve whole_curve() const { return HitCurve(distances_.histogram()); }
  std::span<const RiSample> samples(std::size_t group, std::size_t meter) const {
    return groups_[group].meters()[meter]->samples();
  }

 private:
  void fill(std::span<const std::size_t> requests, Batch& batch);
  void prefetch(std::span<const std::size_t> requests, std::size_t i) const;
  void add_discards(std::size_t before, Batch& batch);
  void add_operations(Batch& batch);
  void count(Batch& batch);
  void end_warm_up();

  const Accesses& trace_;
  BlockId first_id_;
  PassInputs inputs_;
  std::vector<Discard> discards_;
  std::size_t discarded_ = 0;
  DenseDistances distances_;
  std::optional<DenseDistances> read_distances_;
  std::optional<DenseDistances> around_distances_;
  std::vector<std::uint8_t> written_;  // by block: whether the last access was a write
  std::vector<VmTimerGroup> groups_;
  bool warm_ = false;
};

}  // namespace mcsim
