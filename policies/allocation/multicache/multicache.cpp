#include "policies/allocation/multicache/multicache.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/share.hpp"

namespace mcsim {
namespace {

// Return α_i of the paper for any number of tiers: smaller tiers have larger weights, and the
// weights sum to 1.
double reuse_weight(const Machine& machine, std::size_t tier) {
  const std::size_t tiers = machine.tiers.size();
  if (tiers == 1) return 1;
  double sum = 0;
  for (const TierSpec& spec : machine.tiers) sum += static_cast<double>(spec.capacity_blocks);
  const double share = sum > 0 ? static_cast<double>(machine.tiers[tier].capacity_blocks) / sum : 0;
  return (1 - share) / static_cast<double>(tiers - 1);
}

// Append `points` equidistant sizes from first to last, both included.
void append_equidistant(Count first, Count last, Count points, std::vector<Count>& sizes) {
  for (Count i = 0; i < points; ++i) sizes.push_back(first + (last - first) * i / (points - 1));
}

}  // namespace

absl::StatusOr<std::unique_ptr<System>> MultiCache::make(Params params, SystemContext context) {
  params = with_legacy(std::move(params));
  const Nanoseconds covered = params.rd_interval.ns > 0 ? params.rd_interval.ns : context.interval;
  MCSIM_RETURN_IF_ERROR(BurstTrigger::check(params.ri_trigger, params.ri_window.ns, covered));
  return make_checked<MultiCache>(std::move(params), std::move(context));
}

MultiCache::MultiCache(const Params& params, SystemContext context)
    : CurveMaximizer(kInfo.name, params, std::move(context),
                     {.victim = params.victim,
                      .idle = params.idle,
                      .leftover = params.rescale ? Leftover::kScale : Leftover::kSpread}),
      params_(params),
      trigger_(params.ri_trigger) {}

ExpandOptions MultiCache::trace_view(ExpandOptions experiment) const {
  if (params_.block_key != BlockKey::kAligned) experiment.key = params_.block_key;
  experiment.whole_seconds = experiment.whole_seconds || params_.whole_seconds;
  return experiment;
}

std::vector<Timer> MultiCache::timers() const {
  const Timer sizes{.name = "sizes",
                    .clock = {.period = interval(), .drifting = params_.drifting_timer}};
  if (!trigger_.enabled()) return {sizes};
  return {{.name = "window", .clock = {.period = params_.ri_window.ns}}, sizes};
}

std::vector<Meter> MultiCache::meters() const {
  CurveMeter curve{.scope = params_.distance_scope, .distance_limit = params_.distance_limit};
  IntensityMeter intensity{.window = params_.ri_window,
                           .aggregate = params_.ri_aggregate,
                           .unique = params_.unique_counter};
  if (!trigger_.enabled()) return with_around({{.what = curve}, {.what = intensity}});
  const Duration covered{interval()};
  if (curve.scope != DistanceScope::kCumulative) curve.window = covered;
  IntensityMeter last = intensity;
  last.aggregate = RiAggregate::kLast;
  return with_around({{.what = curve, .timer = kWindow},
                      {.what = intensity, .timer = kWindow + 1},
                      {.what = last, .timer = kWindow, .name = "last intensity"},
                      {.what = LoadMeter{.window = covered}, .timer = kWindow}});
}

absl::StatusOr<std::optional<Decision>> MultiCache::decide(const Observation& seen) {
  const bool divides = !at_window(seen) || trigger_.fires(seen.meter("last intensity").intensities);
  if (!divides) return std::nullopt;
  return CurveMaximizer::decide(seen);
}

const Intensity& MultiCache::intensity(const Observation& seen, std::size_t vm) const {
  return seen.meter(at_window(seen) ? "last intensity" : "intensity").intensities[vm];
}

std::optional<std::string> MultiCache::default_optimizer() const {
  return params_.legacy ? "annealing-legacy" : "annealing";
}

// Return a uniform grid over the tier, or the points at which the authors sample their curves.
CurveMaximizer::Grid MultiCache::grid(const Stage& stage) const {
  const Count capacity = stage.capacities.front();
  std::vector<Count> points;
  if (params_.split_grid) {
    const Count half = std::max<Count>(params_.grid / 2, 2);
    const Count first = machine().tiers.front().capacity_blocks;
    append_equidistant(0, first, half, points);
    append_equidistant(first, std::max(first, machine().tiers.back().capacity_blocks), half,
                       points);
  } else {
    const Count unit = std::max<Count>(1, capacity / params_.grid);
    for (Count size = 0; size <= capacity; size += unit) points.push_back(size);
  }
  // Sizes that include the faster tiers start at a different base for each VM.
  std::vector<Count> bases;
  for (std::size_t v = 0; v < stage.base.size(); ++v) {
    if (stage.active[v]) bases.push_back(counted_base(stage, v));
  }
  std::ranges::sort(bases);
  bases.erase(std::unique(bases.begin(), bases.end()), bases.end());
  std::vector<Count> sizes{0};
  for (const Count base : bases) {
    for (const Count size : points) sizes.push_back(base + size);
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return {.sizes = std::move(sizes), .capacities = stage.capacities};
}

Count MultiCache::counted_base(const Stage& stage, std::size_t vm) const {
  return params_.total_size_weight ? stage.base[vm] : 0;
}

double MultiCache::worth(const Observation& seen, const Stage& stage, std::size_t vm,
                         std::size_t tier, Count blocks) const {
  double worth = 0;
  worth_of_all(seen, stage, vm, tier, {&blocks, 1}, {&worth, 1});
  return worth;
}

void MultiCache::worth_of_all(const Observation& seen, const Stage& stage, std::size_t vm,
                              std::size_t /*tier*/, std::span<const Count> blocks,
                              std::span<double> worths) const {
  const RunningCurve& curve = curves(seen)[vm];
  const Count base = stage.base[vm];
  const double had = curve.ratio(base);
  // With many VMs, most sizes of the tier exceed a VM's reach, beyond which its hit ratio is
  // constant.
  const Count reach = curve.reach();
  const double most = curve.ratio(reach);
  const double reuse_counts = reuse_weight(machine(), stage.first);
  const double speed = machine().backend.read_ns / machine().tiers[stage.first].device.read_ns;
  const double counts = weight(seen, vm);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Count size = base + blocks[i];
    const double gained = (size >= reach ? most : curve.ratio(size)) - had;
    const double reuse = reuse_counts * reuse_term(intensity(seen, vm), stage, blocks[i]);
    worths[i] = params_.percent_utility ? std::trunc(100 * (gained + reuse))
                                        : counts * (speed * gained + reuse);
  }
}

CurveMaximizer::Bounds MultiCache::bounds(const Observation&, const Stage& stage,
                                          std::size_t) const {
  const double equal =
      static_cast<double>(stage.capacities.front()) / static_cast<double>(stage.base.size());
  return {.least = floor_of(params_.minimum_share * equal)};
}

// Cumulative curves count accesses of earlier intervals.
bool MultiCache::active(const Observation& seen, std::size_t vm) const {
  if (!CurveMaximizer::active(seen, vm)) return false;
  if (params_.idle == IdlePolicy::kCurve) return true;
  return (trigger_.enabled() ? seen.meter("load").loads[vm].accesses : seen.since[vm].accesses) > 0;
}

double MultiCache::reuse_term(const Intensity& of, const Stage& stage, Count blocks) const {
  switch (params_.ri_mode) {
    case RiMode::kLiteral:
      return of.value;
    case RiMode::kGated:
      return blocks > 0 ? of.value : 0;
    case RiMode::kLinear: {
      const Count full = std::min(stage.capacities.front(), of.window_unique);
      if (full <= 0) return 0;
      return of.value * std::min(1.0, static_cast<double>(blocks) / static_cast<double>(full));
    }
  }
  return 0;
}

}  // namespace mcsim
