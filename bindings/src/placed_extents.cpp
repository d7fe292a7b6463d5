#include "bindings/src/placed_extents.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mcsim::python {

PlacedExtents::PlacedExtents(const Params& params, Machine machine, std::vector<Count> sizes,
                             std::size_t timers)
    : params_(params), machine_(std::move(machine)), sizes_(std::move(sizes)), before_(timers) {}

absl::StatusOr<std::unique_ptr<Host>> PlacedExtents::make_host(const Accesses& trace) {
  extent_blocks_ = trace.line_blocks;
  if (std::ranges::max(rooms()) == 0) {
    return invalid_argument("extent: {} blocks do not fit into any tier", extent_blocks_);
  }
  vm_of_ = vms_of_extents(trace);
  decided_.clear();
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
  return extent_capacity(write_area(), machine_, extent_blocks_);
}

py::object PlacedExtents::shown(const Observation& seen) {
  const std::size_t extents = vm_of_.size();
  for (const Placement& of : decided_) placed_[of.extent] = of.tier;
  decided_.clear();
  for (std::size_t extent = 0; extent < extents; ++extent) {
    if (seen.departed[vm_of_[extent]]) placed_[extent] = machine_.tiers.size();
  }
  Counts& before = before_[seen.timer];
  const auto delta = [&](auto Counts::* counts, Op op, const std::vector<std::size_t>& shape) {
    const auto& now = (counts_.*counts)[static_cast<std::size_t>(op)];
    const auto& then = (before.*counts)[static_cast<std::size_t>(op)];
    return read_only(filled(shape, [&](std::size_t i) {
      return seen.departed[vm_of_[i % extents]] ? 0 : now[i] - then[i];
    }));
  };
  const auto numbers = [](const auto& of) {
    return read_only(column_of(of, [](auto number) { return static_cast<Count>(number); }));
  };
  const std::vector<std::size_t> by_size{sizes_.size() + 1, extents};
  py::object all = py::module_::import("types").attr("SimpleNamespace")(
      "blocks"_a = extent_blocks_, "rooms"_a = to_array(rooms()), "vm"_a = numbers(vm_of_),
      "tier"_a = numbers(placed_), "reads"_a = delta(&Counts::requests, Op::kRead, by_size),
      "writes"_a = delta(&Counts::requests, Op::kWrite, by_size),
      "blocks_read"_a = delta(&Counts::blocks, Op::kRead, {extents}),
      "blocks_written"_a = delta(&Counts::blocks, Op::kWrite, {extents}));
  before = counts_;
  return all;
}

absl::StatusOr<std::vector<Placement>> PlacedExtents::moves_to(const py::object& tiers) {
  const auto wanted = tiers.cast<Converted<double>>();
  if (static_cast<std::size_t>(wanted.size()) != placed_.size()) {
    return invalid_argument("allocate() places {} extents of {}", wanted.size(), placed_.size());
  }
  decided_.clear();
  for (std::size_t extent = 0; extent < placed_.size(); ++extent) {
    const double tier = wanted.data()[extent];
    // NaN compares false.
    if (!(tier >= 0 && tier <= static_cast<double>(machine_.tiers.size())) ||
        std::trunc(tier) != tier) {
      return invalid_argument(
          "allocate() places extent {} in tier {}: expected whole numbers from 0 to {}, which is "
          "the backend",
          extent, tier, machine_.tiers.size());
    }
    const auto to = static_cast<std::size_t>(tier);
    if (to != placed_[extent]) decided_.push_back({.extent = extent, .tier = to});
  }
  return decided_;
}

}  // namespace mcsim::python
