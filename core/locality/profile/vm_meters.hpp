#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/locality/profile/characterise.hpp"

// The meters at work: what `characterise` shows the accesses of one VM.
namespace mcsim {

// Accesses of one VM in their order, and their distances.
struct Stream {
  std::span<const std::uint32_t> blocks;
  std::span<const Count> distances;

  Stream slice(std::size_t begin, std::size_t end) const {
    return {blocks.subspan(begin, end - begin), distances.subspan(begin, end - begin)};
  }
};

// Requests of one VM between two cuts.
struct Stretch {
  std::span<const std::size_t> requests;
  Stream all;
  Stream reads;  // among each other; the same where there are no writes
  // Of all accesses; empty where nobody asks.
  std::span<const std::uint8_t> writes;          // whether it is one
  std::span<const std::uint8_t> written_before;  // whether the last to its block was one
};

// What one meter measures of one VM.
class VmMeter {
 public:
  virtual ~VmMeter() = default;

  virtual void count(const Stretch& stretch) = 0;
  virtual void end_period(std::size_t period) = 0;

  // Of a meter with cuts of its own: the request before which the next one falls, and that
  // request is next.
  virtual std::size_t next_cut() const;
  virtual void begin_request(std::size_t) {}
  // Every non-empty window so far.
  virtual std::span<const RiSample> samples() const { return {}; }
};

// All that meters share.
struct MeterSetup {
  const Accesses& trace;
  const MeterSpec& spec;
  std::span<const Piece> periods;
  std::span<const Piece> windows;  // of an IntensityMeter
  bool has_writes;                 // in the trace
};

// So many periods make the window of a meter.
std::size_t periods_of(const TimerClock& clock, Duration window);

// What `meter_of` writes to.
Measured room_for(const MeterSetup& setup);
// `into` outlives it.
std::unique_ptr<VmMeter> meter_of(const MeterSetup& setup, VmId vm, Measured& into);

}  // namespace mcsim
