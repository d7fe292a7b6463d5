#pragma once

#include <string>
#include <string_view>

namespace mcsim {

// Text from a file as a message may show it: short and printable.
std::string shown(std::string_view text);

}  // namespace mcsim
