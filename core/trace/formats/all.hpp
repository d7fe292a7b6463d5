#pragma once

#include <vector>

#include "core/trace/reader.hpp"

namespace mcsim {

// Returns the fit of each format, in the order of formats().
std::vector<Guess> guess_all(const Head& head);

}  // namespace mcsim
