#include "policies/allocation/latency.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path_text.hpp"

namespace mcsim {

double mean_ns(const VmCounters& counted, const Machine& machine, const std::string& vm) {
  if (counted.accesses == 0) return 0;
  const auto waited = [&](Op op, double Device::* takes, double backend_ns) {
    const Served& served = counted.served(op);
    double sum = 0;
    for (std::size_t k = 0; k < counted.tiers.size(); ++k) {
      sum += static_cast<double>(served.blocks[k]) * (machine.tiers[k].device.*takes);
    }
    return sum + static_cast<double>(served.blocks[counted.tiers.size()]) * backend_ns;
  };
  const double all = waited(Op::kRead, &Device::read_ns, machine.backend_read_ns(vm)) +
                     waited(Op::kWrite, &Device::write_ns, machine.backend_write_ns(vm));
  const double from_no_device =
      static_cast<double>(counted.staged_ns) + static_cast<double>(counted.delayed_ns);
  double over_link = 0;
  for (const TierCounters& tier : counted.tiers) {
    over_link += static_cast<double>(tier.remote_reads) * machine.fleet.link.latency_ns;
  }
  return (all + from_no_device + over_link) / static_cast<double>(counted.accesses);
}

double tier_mean_ns(const VmCounters& counted, const Machine& machine, std::size_t tier) {
  const auto reads = static_cast<double>(counted.reads_served.blocks[tier]);
  const auto writes = static_cast<double>(counted.writes_served.blocks[tier]);
  if (reads + writes == 0) return 0;
  const Device& device = machine.tiers[tier].device;
  const double over_link =
      static_cast<double>(counted.tiers[tier].remote_reads) * machine.fleet.link.latency_ns;
  return (reads * device.read_ns + writes * device.write_ns + over_link) / (reads + writes);
}

LatencyModel::LatencyModel(const Machine& machine, std::span<const VmInfo> vms, ModesByTier modes)
    : modes_(std::move(modes)), around_(mcsim::writes_around(modes_, vms.size())) {
  for (const TierSpec& tier : machine.tiers) {
    read_ns_.push_back(tier.device.read_ns);
    write_ns_.push_back(tier.device.write_ns);
    capacity_ += tier.capacity_blocks;
    share_.push_back(static_cast<double>(capacity_));
  }
  for (double& share : share_) share /= static_cast<double>(std::max<Count>(capacity_, 1));
  for (const VmInfo& vm : vms) {
    backend_read_ns_.push_back(machine.backend_read_ns(vm.name));
    backend_write_ns_.push_back(machine.backend_write_ns(vm.name));
  }
}

absl::StatusOr<LatencyModel> LatencyModel::make(const Machine& machine, std::span<const VmInfo> vms,
                                                std::string_view writes) {
  std::vector<std::string_view> names;
  for (const VmInfo& vm : vms) names.push_back(vm.name);
  MCSIM_ASSIGN_OR_RETURN(ModesByTier modes, read_writes(writes, machine.tiers.size(), names));
  return LatencyModel(machine, vms, std::move(modes));
}

std::vector<Meter> LatencyModel::read_meters(const Machine& machine, const DataPathParams& path,
                                             CurveMeter of) {
  of.ops = OpFilter::kReads;
  return with_curves_around({{.what = of, .name = "read curve"}}, path, machine.tiers.size());
}

double LatencyModel::write_ns(std::size_t vm, Count blocks) const {
  Count above = 0;
  for (std::size_t k = 0; k < share_.size(); ++k) {
    const Count down_to = held(blocks, k);
    if (modes_[k][vm] == WriteMode::kBack && down_to > above) return write_ns_[k];
    above = down_to;
  }
  return backend_write_ns_[vm];
}

bool LatencyGoals::needs_responses() const {
  return std::ranges::any_of(outstanding, [](const auto& of_vm) { return of_vm.second == 0; });
}

std::vector<Meter> LatencyGoals::with_responses(std::vector<Meter> meters) const {
  if (needs_responses()) meters.push_back({.what = ResponseMeter{}});
  return meters;
}

absl::StatusOr<std::vector<double>> LatencyGoals::wanted_ns(std::span<const VmInfo> vms) const {
  return wanted_ns(vms, std::span<const Responses>());
}

std::vector<double> LatencyGoals::wanted_ns(std::span<const VmInfo> vms,
                                            const Observation& seen) const {
  const auto responses =
      needs_responses() ? seen.meter("responses").responses : std::span<const Responses>();
  return *wanted_ns(vms, responses);  // validated before the first interval
}

absl::StatusOr<std::vector<double>> LatencyGoals::wanted_ns(
    std::span<const VmInfo> vms, std::span<const Responses> responses) const {
  constexpr double kNothing = std::numeric_limits<double>::infinity();
  MCSIM_ASSIGN_OR_RETURN(std::vector<double> wanted,
                         per_vm("latency_ms", latency_ms, vms, kNothing, "a latency"));
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> rates, per_vm("iops", iops, vms, 0, "a rate"));
  MCSIM_ASSIGN_OR_RETURN(std::vector<double> under_way,
                         per_vm("outstanding", outstanding, vms, 1, "a number of accesses"));
  for (std::size_t v = 0; v < vms.size(); ++v) {
    wanted[v] *= 1e6;
    if (under_way[v] == 0 && !responses.empty()) under_way[v] = responses[v].outstanding;
    if (rates[v] > 0 && under_way[v] > 0)
      wanted[v] = std::min(wanted[v], under_way[v] * 1e9 / rates[v]);
  }
  return wanted;
}

void Promises::fit(std::span<const double> priorities) {
  Count promised = std::accumulate(least.begin(), least.end(), Count{0});
  if (promised <= model_.capacity()) return;
  std::string why = fmt::format(
      "the targets need {} blocks, the capacity is {}; dropped:", promised, model_.capacity());
  std::vector<std::size_t> order(least.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t v) { return priorities[v]; });
  for (const std::size_t v : order) {
    if (promised <= model_.capacity()) break;
    if (least[v] == 0) continue;
    promised -= least[v];
    least[v] = 0;
    why += " " + vms_[v].name;
  }
  complain(why);
}

void Promises::cannot_have(std::size_t vm, double wanted_ns, double best_ns) {
  complain(fmt::format("{}: target {:.6g} ms, but {:.6g} ms with all blocks", vms_[vm].name,
                       wanted_ns / 1e6, best_ns / 1e6));
}

void Promises::complain(const std::string& why) {
  infeasible += (infeasible.empty() ? "" : "; ") + why;
}

}  // namespace mcsim
