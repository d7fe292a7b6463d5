#pragma once

#include <memory>
#include <string_view>

#include "core/base/params.hpp"
#include "tests/support/naive_policy.hpp"

namespace mcsim::naive {

// The twin of a policy, given the number of blocks of the trace; null if it has none.
std::unique_ptr<Policy> twin(std::string_view name, const ParamMap& params, Count capacity,
                             std::size_t blocks);

}  // namespace mcsim::naive
