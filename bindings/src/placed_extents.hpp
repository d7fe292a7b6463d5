#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bindings/src/pybind.hpp"
#include "core/engine/hosts/placed_host.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim::python {

// The extents of a Python allocator that places them: how each was asked for, since each of its
// timers rang last, and where it lives.
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

  // Requests of at most as many bytes as each of `sizes` are counted apart, and larger ones.
  PlacedExtents(const Params& params, Machine machine, std::vector<Count> sizes,
                std::size_t timers);

  // What the lines of the trace are to be.
  std::uint32_t line_blocks() const { return static_cast<std::uint32_t>(params_.extent); }
  // All extents are in the backend, and nothing is counted. Outlives the host.
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace);

  // The fields of mcsim.experiment.answers.Extents, as a timer rings that counts anew from now on.
  py::object shown(const Observation& seen);
  // What moves so that each extent is in the tier that Python says.
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
  Count extent_blocks_ = 1;     // as the trace has them
  std::vector<Count> sizes_;    // bytes
  Counts counts_;               // since the trace began
  std::vector<Counts> before_;  // by timer, as it rang last
  std::vector<VmId> vm_of_;
  std::vector<std::size_t> placed_;  // tiers, or the backend
};

}  // namespace mcsim::python
