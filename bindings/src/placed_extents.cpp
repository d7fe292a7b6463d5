#include "bindings/src/placed_extents.hpp"

#include <algorithm>
#include <utility>

namespace mcsim::python {
namespace {

// Of each extent, an array.
template <class T, class Of>
py::array_t<T> by_extent(std::size_t extents, Of&& of) {
  std::vector<T> values(extents);
  for (std::size_t extent = 0; extent < extents; ++extent)
    values[extent] = static_cast<T>(of(extent));
  return to_array(std::move(values));
}

}  // namespace

PlacedExtents::PlacedExtents(const Params& params, Machine machine, std::vector<Count> sizes,
                             std::size_t timers)
    : params_(params), machine_(std::move(machine)), sizes_(std::move(sizes)), before_(timers) {}

absl::StatusOr<std::unique_ptr<Host>> PlacedExtents::make_host(const Accesses& trace) {
  extent_blocks_ = trace.line_blocks;
  if (std::ranges::max(rooms()) == 0) {
    return invalid_argument("extent: no tier has room for one of {} blocks", extent_blocks_);
  }
  vm_of_ = vms_of_extents(trace);
  const std::size_t extents = vm_of_.size();
  placed_.assign(extents, machine_.tiers.size());
  for (std::vector<Count>& of_op : counts_.requests) of_op.assign((sizes_.size() + 1) * extents, 0);
  for (std::vector<Count>& of_op : counts_.blocks) of_op.assign(extents, 0);
  before_.assign(before_.size(), counts_);
  return std::make_unique<PlacedHost>(
      machine_, trace,
      [this, bytes = Count{trace.block_bytes}](const ExtentAccess& of) { count(of, bytes); },
      write_area());
}

void PlacedExtents::count(const ExtentAccess& access, Count block_bytes) {
  const auto op = static_cast<std::size_t>(access.op);
  const Count bytes = access.request_blocks * block_bytes;
  const auto size =
      static_cast<std::size_t>(std::ranges::lower_bound(sizes_, bytes) - sizes_.begin());
  ++counts_.requests[op][size * vm_of_.size() + access.extent];
  counts_.blocks[op][access.extent] += access.blocks;
}

WriteArea PlacedExtents::write_area() const {
  return write_area_of(machine_, params_.write_area, params_.high_water);
}

std::vector<Count> PlacedExtents::rooms() const {
  return rooms_beside(write_area(), machine_, extent_blocks_);
}

py::array_t<Count> PlacedExtents::since(const std::vector<Count>& now,
                                        const std::vector<Count>& before,
                                        const std::vector<bool>& departed, bool by_size) const {
  const std::size_t extents = vm_of_.size();
  std::vector<Count> counts(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    counts[i] = departed[vm_of_[i % extents]] ? 0 : now[i] - before[i];
  }
  py::array_t<Count> all = to_array(std::move(counts));
  return by_size ? all.reshape({sizes_.size() + 1, extents}) : all;
}

py::object PlacedExtents::shown(const Observation& seen) {
  const std::size_t extents = vm_of_.size();
  for (std::size_t extent = 0; extent < extents; ++extent) {
    if (seen.departed[vm_of_[extent]]) placed_[extent] = machine_.tiers.size();
  }
  Counts& before = before_[seen.timer];
  const auto requests = [&](Op op) {
    const auto i = static_cast<std::size_t>(op);
    return since(counts_.requests[i], before.requests[i], seen.departed, true);
  };
  const auto blocks = [&](Op op) {
    const auto i = static_cast<std::size_t>(op);
    return since(counts_.blocks[i], before.blocks[i], seen.departed, false);
  };
  using namespace py::literals;
  py::object all = py::module_::import("types").attr("SimpleNamespace")(
      "blocks"_a = extent_blocks_, "rooms"_a = to_array(rooms()),
      "vm"_a = by_extent<Count>(extents, [&](std::size_t e) { return vm_of_[e]; }),
      "tier"_a = by_extent<Count>(extents, [&](std::size_t e) { return placed_[e]; }),
      "reads"_a = requests(Op::kRead), "writes"_a = requests(Op::kWrite),
      "blocks_read"_a = blocks(Op::kRead), "blocks_written"_a = blocks(Op::kWrite));
  before = counts_;
  return all;
}

absl::StatusOr<std::vector<Placement>> PlacedExtents::moves_to(const py::object& tiers) {
  const auto wanted = tiers.cast<Converted<Count>>();
  if (static_cast<std::size_t>(wanted.size()) != placed_.size()) {
    return invalid_argument("allocate() places {} extents of {}", wanted.size(), placed_.size());
  }
  std::vector<Placement> moves;
  for (std::size_t extent = 0; extent < placed_.size(); ++extent) {
    const auto to = static_cast<std::size_t>(wanted.data()[extent]);
    if (to == placed_[extent]) continue;
    moves.push_back({.extent = extent, .tier = to});
    placed_[extent] = to;
  }
  return moves;
}

}  // namespace mcsim::python
