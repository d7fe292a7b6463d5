#pragma once

#include <string>
#include <string_view>

namespace mcsim {

// Shorten text from a file for a message and escape its unprintable characters.
std::string shown(std::string_view text);

}  // namespace mcsim
