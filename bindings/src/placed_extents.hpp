#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bindings/src/pybind.hpp"
#include "core/engine/hosts/placed_host.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim::python {

// The extents of a Python allocator that places extents: their accesses since each of its timers
// last fired, and the tiers in which they reside.
class PlacedExtents {
 public:
  struct Params {
    Count extent = 256;
    double write_area = 0;
    double high_water = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"extent", &Params::extent, "blocks of an extent", 1, 1 << 18},
          Field{"write_area", &Params::write_area,
                "share of the first tier that is for blocks written to extents of the backend", 0,
                1},
          Field{"high_water", &Params::high_water,
                "share of that area that may be dirty; the oldest beyond it are written back", 0,
                1}};
    }
  };

  // Requests are counted by size class: up to each of `sizes` bytes, and above the largest.
  PlacedExtents(const Params& params, Machine machine, std::vector<Count> sizes,
                std::size_t timers);

  // The number of blocks in a line that the trace must have.
  std::uint32_t line_blocks() const { return static_cast<std::uint32_t>(params_.extent); }
  // Makes a host with all extents in the backend and resets the counts. Must outlive the host.
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace);

  // Returns the fields of mcsim.experiment.answers.Extents for the timer that fired, and restarts
  // the counts of this timer.
  py::object shown(const Observation& seen);
  // Returns the moves after which each extent is in the tier that Python decided. If the host
  // refuses them, the run ends without another observation.
  absl::StatusOr<std::vector<Placement>> moves_to(const py::object& tiers);

 private:
  // By operation.
  struct Counts {
    std::array<std::vector<Count>, 2> requests;  // by size, then extent
    std::array<std::vector<Count>, 2> blocks;    // by extent
  };

  WriteArea write_area() const;
  std::vector<Count> rooms() const;
  void count(const ExtentAccess& access, Count block_bytes);

  Params params_;
  Machine machine_;
  Count extent_blocks_ = 1;     // from the trace
  std::vector<Count> sizes_;    // bytes
  Counts counts_;               // since the trace began
  std::vector<Counts> before_;  // by timer, when it last fired
  std::vector<VmId> vm_of_;
  std::vector<std::size_t> placed_;  // the tier of each extent; the number of tiers is the backend
  std::vector<Placement> decided_;   // the last moves, until the next observation
};

}  // namespace mcsim::python
