#pragma once

#include <string>

#include "core/trace/reading/decompress.hpp"

namespace mcsim {

// `text` as a file of the codec.
std::string compress(Codec codec, const std::string& text);

}  // namespace mcsim
