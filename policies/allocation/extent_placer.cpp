#include "policies/allocation/extent_placer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/share.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> ExtentPlacer::make_host(const Accesses& trace) {
  extent_blocks_ = trace.line_blocks;
  block_bytes_ = trace.block_bytes;
  const auto fits = [&](const TierSpec& tier) { return tier.capacity_blocks >= extent_blocks_; };
  if (std::ranges::none_of(machine_.tiers, fits)) {
    return invalid_argument("extent: {} blocks do not fit into any tier", extent_blocks_);
  }
  const std::size_t extents = trace.id_count() / trace.line_blocks;
  scores_.assign(extents, 0);
  placed_.assign(extents, machine_.tiers.size());
  vm_of_ = vms_of_extents(trace);
  const auto add = [this](const ExtentAccess& a) { scores_[a.extent] += score(a, block_bytes_); };
  return std::make_unique<PlacedHost>(machine_, trace, add, write_area());
}

absl::StatusOr<std::optional<Decision>> ExtentPlacer::decide(const Observation& seen) {
  for (std::size_t extent = 0; extent < placed_.size(); ++extent) {
    if (!seen.departed[vm_of_[extent]]) continue;
    placed_[extent] = machine_.tiers.size();
    scores_[extent] = 0;
  }
  Decision decision{.placements = moves_to(wanted())};
  for (const Placement& move : decision.placements) placed_[move.extent] = move.tier;
  end_epoch(scores_);
  return decision;
}

std::vector<Count> ExtentPlacer::rooms() const {
  return extent_capacity(write_area(), machine_, extent_blocks_);
}

// Ties of scores go to the extent in the faster tier, then to the lower index. Extents with score 0
// stay in the backend.
std::vector<std::size_t> ExtentPlacer::wanted() const {
  std::vector<std::size_t> order(scores_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(-scores_[a], placed_[a], a) < std::tuple(-scores_[b], placed_[b], b);
  });
  std::vector<std::size_t> wanted(scores_.size(), machine_.tiers.size());
  std::size_t next = 0;
  const std::vector<Count> rooms = this->rooms();
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    for (Count room = rooms[k]; room > 0; --room) {
      if (next == order.size() || scores_[order[next]] <= 0) return wanted;
      wanted[order[next++]] = k;
    }
  }
  return wanted;
}

// Return the extents that must enter a tier, and for each tier the extents that must leave it, the
// highest scores first.
ExtentPlacer::Travellers ExtentPlacer::travellers_to(const std::vector<std::size_t>& wanted) const {
  const std::size_t tiers = machine_.tiers.size();
  Travellers found{.coming = {}, .leaving = std::vector<std::vector<std::size_t>>(tiers)};
  for (std::size_t extent = 0; extent < wanted.size(); ++extent) {
    const std::size_t at = placed_[extent];
    if (at == wanted[extent]) continue;
    if (at < tiers) found.leaving[at].push_back(extent);
    if (wanted[extent] < tiers) found.coming.push_back(extent);
  }
  const auto score_more = [&](std::size_t a, std::size_t b) {
    return std::pair(-scores_[a], a) < std::pair(-scores_[b], b);
  };
  std::ranges::sort(found.coming, score_more);
  for (std::vector<std::size_t>& of_tier : found.leaving) std::ranges::sort(of_tier, score_more);
  return found;
}

// Return the moves that the rate allows, the highest scores first. If a tier is full, the extent
// with the lowest score that must leave it moves to the backend; its own move to a slower tier
// follows in its turn.
std::vector<Placement> ExtentPlacer::moves_to(const std::vector<std::size_t>& wanted) const {
  const std::size_t tiers = machine_.tiers.size();
  auto [coming, leaving] = travellers_to(wanted);
  std::vector<std::size_t> at = placed_;
  std::vector<Count> room = rooms();
  for (const std::size_t tier : placed_) {
    if (tier < tiers) --room[tier];
  }
  std::size_t moves_left = most_moves();
  const auto move = [&](std::size_t extent, std::size_t to) {
    moves_left -= at[extent] == placed_[extent] ? 1 : 0;
    if (at[extent] < tiers) ++room[at[extent]];
    if (to < tiers) --room[to];
    at[extent] = to;
  };
  for (const std::size_t extent : coming) {
    const std::size_t to = wanted[extent];
    std::vector<std::size_t>& victims = leaving[to];
    while (!victims.empty() && at[victims.back()] != to) victims.pop_back();
    const bool full = room[to] == 0;
    if (full && victims.empty()) continue;
    const std::size_t needed = (at[extent] == placed_[extent] ? 1 : 0) + (full ? 1 : 0);
    if (needed > moves_left) break;
    if (full) move(victims.back(), tiers);
    move(extent, to);
  }
  std::vector<Placement> moves;
  for (std::size_t extent = 0; extent < at.size(); ++extent) {
    if (at[extent] != placed_[extent]) moves.push_back({.extent = extent, .tier = at[extent]});
  }
  return moves;
}

// Return the maximum number of moves per epoch: 0.29 blocks per second for 100 seconds are 29
// blocks, in exact arithmetic.
std::size_t ExtentPlacer::most_moves() const {
  if (params_.rate <= 0) return std::numeric_limits<std::size_t>::max();
  const double seconds = static_cast<double>(params_.epoch.ns) / static_cast<double>(kSecond);
  const double moves = params_.rate * seconds / static_cast<double>(extent_blocks_);
  return static_cast<std::size_t>(floor_of(moves));
}

}  // namespace mcsim
