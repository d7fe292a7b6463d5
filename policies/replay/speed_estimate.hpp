#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/params.hpp"
#include "core/engine/policy/next_use.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Estimates the speed of policies by replaying a short trace through a small cache of each. The
// estimate may affect only the order of tasks.
class SpeedEstimate {
 public:
  SpeedEstimate();

  // Return CPU seconds per access; 0 for policies that cannot be replayed.
  double of(const std::string& policy, const ParamMap& params);

 private:
  static constexpr std::size_t kLength = 20'000;
  static constexpr std::size_t kUnique = 4'000;
  static constexpr Count kCapacity = 500;

  double measure(const std::string& policy, const ParamMap& params) const;

  Pages<BlockId> blocks_;
  Pages<NextUse> next_uses_;
  std::map<std::pair<std::string, ParamMap>, double> seconds_;
};

}  // namespace mcsim
