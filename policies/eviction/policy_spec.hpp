#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy_cache.hpp"

namespace mcsim {

// A policy as a parameter of another names it.
struct PolicySpec {
  std::string name;
  ParamMap params;
};

// Reads policies with `+` between them, their parameters in parentheses:
// `lru+2q(kin=0.1,kout=0.3)+talus(policy=arc(step=integer))`.
absl::StatusOr<std::vector<PolicySpec>> parse_policy_specs(std::string_view text);

// Reads one.
absl::StatusOr<PolicySpec> parse_policy_spec(std::string_view text);

// Makes the cache; fails if its policy must know the future, which a sample or a share
// of the trace does not have.
absl::StatusOr<std::unique_ptr<PolicyCache>> make_wrapped(const PolicySpec& spec,
                                                          const PolicySetup& setup);

}  // namespace mcsim
