#pragma once

#include <vector>

#include "core/base/registry.hpp"
#include "core/trace/reading/reader.hpp"

namespace mcsim {

using FormatRegistry = Registry<RequestReader, ReaderContext>;
const FormatRegistry& formats();

// Returns the fit of each format, in the order of formats().
std::vector<Guess> guess_all(const Head& head);

}  // namespace mcsim
