#include "policies/allocation/vcacheshare.hpp"

#include <algorithm>

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> VCacheShare::make_host(const Accesses& trace) {
  MCSIM_ASSIGN_OR_RETURN(auto host, OneCacheMaximizer::make_host(trace));
  const char* const blocks = "a number of blocks";
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> least,
                         per_vm("reservations", params_.reservations, vms(), 0, blocks));
  const auto all = static_cast<double>(capacity());
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> most,
                         per_vm("limits", params_.limits, vms(), all, blocks));
  Count reserved = 0;
  for (std::size_t v = 0; v < vms().size(); ++v) {
    bounds_[v].most = most[v] < all ? static_cast<Count>(most[v]) : capacity();
    if (least[v] > most[v] && most[v] < all) {
      return invalid_argument("limits: {}: {} is below its reservation of {}", vms()[v].name,
                              most[v], least[v]);
    }
    bounds_[v].least = least[v] < all ? static_cast<Count>(least[v]) : capacity();
    reserved += bounds_[v].least;
    if (least[v] > all || reserved > capacity()) {
      return out_of_range("reservations: exceed the {} blocks of the cache", capacity());
    }
  }
  return host;
}

std::string VCacheShare::prepare(const Observation& seen) {
  highest_intensity_ = 0;
  for (const Intensity& of_vm : seen.meter("intensity").intensities) {
    highest_intensity_ = std::max(highest_intensity_, of_vm.value);
  }
  return {};
}

double VCacheShare::worth(const Observation& seen, const Stage&, std::size_t vm, std::size_t,
                          Count blocks) const {
  const Load& load = seen.meter("load").loads[vm];
  if (load.accesses == 0) return 0;
  const double reads = static_cast<double>(load.reads) / static_cast<double>(load.accesses);
  double reuse = params_.alpha * seen.meter("intensity").intensities[vm].value;
  if (params_.alpha_mode == AlphaMode::kLinear) {
    const double part = static_cast<double>(blocks) / static_cast<double>(capacity());
    reuse = highest_intensity_ > 0 ? reuse / highest_intensity_ * part : 0;
  }
  const double gain = curves(seen)[vm].ratio(blocks) + reuse;
  return priorities()[vm] * latency_ns(seen, vm) * reads * gain;
}

double VCacheShare::latency_ns(const Observation& seen, std::size_t vm) const {
  if (params_.latency == MissLatency::kTrace) return seen.meter("responses").responses[vm].mean_ns;
  return machine().backend_read_ns(vms()[vm].name);
}

}  // namespace mcsim
