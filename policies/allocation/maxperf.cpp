#include "policies/allocation/maxperf.hpp"

#include <algorithm>
#include <numeric>

#include "policies/allocation/dividing.hpp"

namespace mcsim {

void MeasuredCurve::add(Count blocks, double ratio) {
  const auto at = static_cast<double>(blocks);
  std::erase_if(points_, [&](const auto& point) { return point.first == at; });
  points_.emplace_back(at, ratio);
  if (points_.size() > kPoints) points_.pop_front();
}

void MeasuredCurve::settle(Count capacity, Count steps) {
  rises_ = points_.size() > 1;
  const double step = static_cast<double>(capacity) / static_cast<double>(steps);
  double before = 0;
  for (Count i = 0; i <= steps && rises_; ++i) {
    const double now = polynomial(static_cast<double>(i) * step);
    rises_ = now >= before;
    before = now;
  }
}

double MeasuredCurve::ratio(Count blocks) const {
  const auto at = static_cast<double>(blocks);
  return rises_ ? polynomial(at) : lines(at);
}

double MeasuredCurve::polynomial(double blocks) const {
  std::vector<double> through;
  for (const auto& point : points_) through.push_back(point.second);
  for (std::size_t width = 1; width < through.size(); ++width) {
    for (std::size_t i = 0; i + width < through.size(); ++i) {
      const double first = points_[i].first;
      const double last = points_[i + width].first;
      through[i] =
          ((blocks - last) * through[i] + (first - blocks) * through[i + 1]) / (first - last);
    }
  }
  return std::clamp(through.front(), 0.0, 1.0);
}

double MeasuredCurve::lines(double blocks) const {
  std::vector<std::pair<double, double>> points(points_.begin(), points_.end());
  std::ranges::sort(points);
  std::pair<double, double> before{0, 0};
  for (const auto& point : points) {
    if (point.first >= blocks) {
      const double width = point.first - before.first;
      if (width == 0) return point.second;
      return before.second + (point.second - before.second) * (blocks - before.first) / width;
    }
    before = point;
  }
  return before.second;
}

absl::StatusOr<std::unique_ptr<Host>> Maxperf::make_host(const Accesses& trace) {
  vms_ = trace.vms;
  MCSIM_ASSIGN_OR_RETURN(latency_, LatencyModel::make(context_.machine, vms_, params_.writes));
  measured_.resize(vms_.size());
  MCSIM_RETURN_IF_ERROR(params_.wanted_ns(vms_).status());
  MCSIM_ASSIGN_OR_RETURN(priorities_, per_vm("priorities", params_.priorities, vms_, 1));
  const std::vector<double> equal(vms_.size(), 1.0);
  const Division division =
      one_part_each(proportional(context_.machine, equal), {.mode = params_.resize_mode});
  return make_data_path(params_, context_.machine, trace, division, context_.seed);
}

absl::StatusOr<std::optional<Decision>> Maxperf::decide(const Observation& seen) {
  if (params_.curve == MaxperfCurve::kNeville) measure(seen);
  std::vector<bool> here;
  const std::vector<double> wanted_ns = params_.wanted_ns(vms_, seen);
  Promises promises(latency_, vms_);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    here.push_back(seen.since[v].accesses > 0 && !seen.departed[v]);
    if (here[v]) promises.promise(v, wanted_ns[v], mix(seen, v));
  }
  if (std::ranges::find(here, true) == here.end()) return std::nullopt;
  promises.fit(priorities_);
  std::vector<Count> sizes = promises.least;
  std::vector<double> gains(seen.vms(), 0);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    if (here[v]) gains[v] = gain(seen, v, sizes[v]);
  }
  // Without any gain, spare space is divided equally among VMs with accesses.
  if (std::ranges::max(gains) <= 0) gains.assign(here.begin(), here.end());
  const Count used = std::accumulate(sizes.begin(), sizes.end(), Count{0});
  const std::vector<Count> extra = proportional(latency_.capacity() - used, gains);
  for (std::size_t v = 0; v < seen.vms(); ++v) sizes[v] += extra[v];
  return Decision{.targets = over_tiers(context_.machine, sizes),
                  .infeasible = std::move(promises.infeasible)};
}

double Maxperf::gain(const Observation& seen, std::size_t vm, Count blocks) const {
  const Count more = std::max<Count>(1, latency_.capacity() / params_.steps);
  const auto of = mix(seen, vm);
  const double saved = latency_.mean_ns(vm, blocks, of) - latency_.mean_ns(vm, blocks + more, of);
  return priorities_[vm] * static_cast<double>(seen.since[vm].accesses) * std::max(0.0, saved);
}

void Maxperf::measure(const Observation& seen) {
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const VmCounters& of = seen.since[v];
    const auto reads = static_cast<double>(of.accesses - of.writes);
    if (reads == 0) continue;
    const auto missed = static_cast<double>(of.reads_served.blocks[of.tiers.size()]);
    measured_[v].add(in_all_tiers(seen.current, v), (reads - missed) / reads);
    measured_[v].settle(latency_.capacity(), params_.steps);
  }
}

}  // namespace mcsim
