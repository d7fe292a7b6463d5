#include "core/base/params.hpp"

#include "core/base/suggest.hpp"

namespace mcsim::params_internal {

std::string unknown_parameter(std::string_view name, const std::vector<ParamInfo>& known) {
  std::vector<std::string_view> names;
  for (const ParamInfo& info : known) names.push_back(info.name);
  if (names.empty()) return fmt::format("unknown parameter '{}': no parameters are expected", name);
  return fmt::format("unknown parameter '{}'{}", name, did_you_mean(name, names));
}

}  // namespace mcsim::params_internal
