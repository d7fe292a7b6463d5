#pragma once

#include <memory>
#include <string_view>

#include "tests/support/naive_policies.hpp"
#include "tests/support/naive_policies_adaptive.hpp"
#include "tests/support/naive_policies_frequency.hpp"
#include "tests/support/naive_policies_irr.hpp"

namespace mcsim::naive {

// The twin of a policy of the one list; null if it was given none.
inline std::unique_ptr<Policy> any_twin(std::string_view name, const ParamMap& params,
                                        Count capacity, std::size_t blocks) {
  auto made = twin(name, params, capacity);
  if (made == nullptr) made = adaptive_twin(name, params, capacity);
  if (made == nullptr) made = irr_twin(name, params, capacity);
  if (made == nullptr) made = frequency_twin(name, params, capacity, blocks);
  return made;
}

}  // namespace mcsim::naive
