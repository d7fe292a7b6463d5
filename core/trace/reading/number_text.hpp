#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/trace/reading/text.hpp"

namespace mcsim {

// Returns a number as decimal text in `buffer`, padded for FieldScanner::next_field().
template <class T>
std::string_view padded_text(T value, std::string& buffer) {
  constexpr std::size_t kLongestNumber = 352;  // a double without exponent
  buffer.resize(kLongestNumber + LineReader::kPadding);
  char* const end = buffer.data() + kLongestNumber;
  std::to_chars_result written{};
  if constexpr (std::is_floating_point_v<T>) {
    written = std::to_chars(buffer.data(), end, value, std::chars_format::fixed);
  } else {
    written = std::to_chars(buffer.data(), end, value);
  }
  *written.ptr = '\0';
  return {buffer.data(), written.ptr};
}

}  // namespace mcsim
