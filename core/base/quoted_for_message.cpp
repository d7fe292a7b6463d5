#include "core/base/quoted_for_message.hpp"

#include <fmt/format.h>

namespace mcsim {

std::string quoted_for_message(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string printable;
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      printable += c;
    } else {
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kLongest ? printable + "..." : printable;
}

}  // namespace mcsim
