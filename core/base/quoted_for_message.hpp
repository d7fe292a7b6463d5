#pragma once

#include <string>
#include <string_view>

namespace mcsim {

// Shorten text from a file for a message and escape its unprintable characters.
std::string quoted_for_message(std::string_view text);

}  // namespace mcsim
