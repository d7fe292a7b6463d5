#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"

namespace mcsim {

enum class JsonKind : std::uint8_t { kUnsigned, kSigned, kNumber, kText };
template <>
struct Choices<JsonKind> {
  static constexpr std::array names{
      std::pair{"uint64", JsonKind::kUnsigned}, std::pair{"int64", JsonKind::kSigned},
      std::pair{"double", JsonKind::kNumber}, std::pair{"string", JsonKind::kText}};
};

// A field of JSON lines: a value, or a list of values.
struct JsonField {
  std::string name;
  JsonKind kind = JsonKind::kSigned;
  bool is_list = false;
};

// The values of a field in all lines.
struct JsonColumn {
  std::vector<std::int32_t>
      list_ends;  // of the list of each line, after a zero; empty without lists
  std::vector<std::uint64_t> numbers;   // the bits of integers and doubles
  std::vector<std::int32_t> text_ends;  // of each text, after a zero; empty without texts
  std::string text;                     // all texts, in ASCII
};

// Read fields of JSON Lines in their simplest form: an object in each line that is not blank, with
// each field once, of its kind, and without escapes. Other fields are skipped. Return nothing if a
// line has another form, which may be valid: a complete parser has to read the text.
std::optional<std::vector<JsonColumn>> read_flat_columns(std::string_view text,
                                                         std::span<const JsonField> fields);

}  // namespace mcsim
