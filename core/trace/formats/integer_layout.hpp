#pragma once

#include <optional>
#include <string_view>

#include "core/trace/reading/record_reader.hpp"

namespace mcsim {

// The storage layout of integers in a file without other structure.
struct IntegerLayout {
  std::size_t bytes = 0;  // 4 or 8
  ByteOrder order = ByteOrder::little;

  friend bool operator==(const IntegerLayout&, const IntegerLayout&) = default;
};

// Detects the layout from the beginning of a file of integers; nullopt if uncertain. The high bytes
// of ids and block numbers are mostly 0 or have few values, the low bytes have many.
std::optional<IntegerLayout> integer_layout(std::string_view head);

}  // namespace mcsim
