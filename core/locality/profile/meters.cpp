#include "core/locality/profile/meters.hpp"

#include <fmt/ranges.h>

#include <optional>

namespace mcsim {
namespace {

// Returns the alternative of that name, with these parameters; nullopt if there is none.
template <std::size_t kIndex = 0>
std::optional<absl::StatusOr<MeterKind>> find_meter(std::string_view name, const ParamMap& params) {
  if constexpr (kIndex == std::variant_size_v<MeterKind>) {
    return std::nullopt;
  } else {
    using Kind = std::variant_alternative_t<kIndex, MeterKind>;
    if (name != Kind::kInfo.name) return find_meter<kIndex + 1>(name, params);
    return absl::StatusOr<MeterKind>(parse_params<Kind>(params));
  }
}

template <std::size_t... kIndex>
auto described(std::index_sequence<kIndex...>) {
  return std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>>{
      {std::variant_alternative_t<kIndex, MeterKind>::kInfo,
       describe<std::variant_alternative_t<kIndex, MeterKind>>()}...};
}

}  // namespace

absl::StatusOr<MeterKind> meter_named(std::string_view name, const ParamMap& params) {
  if (auto found = find_meter(name, params)) return *std::move(found);
  std::vector<std::string_view> known;
  for (const auto& meter : describe_meters()) known.emplace_back(meter.first.name);
  return not_found("no meter '{}'; there are {}", name, fmt::join(known, ", "));
}

std::vector<std::pair<ComponentInfo, std::vector<ParamInfo>>> describe_meters() {
  return described(std::make_index_sequence<std::variant_size_v<MeterKind>>{});
}

const char* name_of(const MeterKind& meter) {
  return std::visit([]<class Kind>(const Kind&) { return Kind::kInfo.name; }, meter);
}

ParamMap params_of(const MeterKind& meter) {
  return std::visit([](const auto& kind) { return param_map(kind); }, meter);
}

}  // namespace mcsim
