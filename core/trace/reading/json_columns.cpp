#include "core/trace/reading/json_columns.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

#include "core/trace/reading/flat_json.hpp"

namespace mcsim {
namespace {

// Arrays and objects inside one another in fields that are skipped.
constexpr int kMostLevels = 16;

constexpr std::size_t kMostFields = 64;

// Bytes of an element of a list, as the first estimate.
constexpr std::size_t kListBytes = 8;

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// Appends the current end of the elements; false if it does not fit.
bool append_end(std::vector<std::int32_t>& ends, std::size_t end) {
  if (end > std::size_t{std::numeric_limits<std::int32_t>::max()}) return false;
  ends.push_back(static_cast<std::int32_t>(end));
  return true;
}

template <class Integer>
bool take_integer(FlatJson& json, std::vector<std::uint64_t>& numbers) {
  Integer value = 0;
  if (!json.take_integer(value)) return false;
  numbers.push_back(static_cast<std::uint64_t>(value));
  return true;
}

bool take_double(FlatJson& json, std::vector<std::uint64_t>& numbers) {
  std::string_view digits;
  if (!json.take_number(digits)) return false;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, value);
  numbers.push_back(std::bit_cast<std::uint64_t>(value));
  return error == std::errc() && last == end;
}

bool take_text(FlatJson& json, JsonColumn& column) {
  std::string_view value;
  if (!json.take_string(value) || !is_ascii(value)) return false;
  column.text += value;
  return append_end(column.text_ends, column.text.size());
}

// Takes a value, or all of a list, by take().
template <class Take>
bool take_all(FlatJson& json, bool is_list, Take&& take) {
  if (!is_list) return take();
  if (!json.take('[')) return false;
  if (json.take(']')) return true;
  do {
    if (!take()) return false;
  } while (json.take(','));
  return json.take(']');
}

bool take_elements(FlatJson& json, const JsonField& field, JsonColumn& column) {
  const auto all = [&](auto&& take) { return take_all(json, field.is_list, take); };
  switch (field.kind) {
    case JsonKind::kUnsigned:
      return all([&] { return take_integer<std::uint64_t>(json, column.numbers); });
    case JsonKind::kSigned:
      return all([&] { return take_integer<std::int64_t>(json, column.numbers); });
    case JsonKind::kNumber:
      return all([&] { return take_double(json, column.numbers); });
    case JsonKind::kText:
      return all([&] { return take_text(json, column); });
  }
  return false;
}

bool take_value(FlatJson& json, const JsonField& field, JsonColumn& column) {
  if (!take_elements(json, field, column)) return false;
  if (!field.is_list) return true;
  const bool is_text = field.kind == JsonKind::kText;
  return append_end(column.list_ends,
                    is_text ? column.text_ends.size() - 1 : column.numbers.size());
}

// Takes the object of a line; false if it has another form.
bool take_object(FlatJson& json, std::span<const JsonField> fields,
                 std::vector<JsonColumn>& columns) {
  if (!json.take('{')) return false;
  std::uint64_t found = 0;
  std::size_t next = 0;  // the next field in the order of `fields`
  do {
    std::string_view name;
    if (!json.take_string(name) || !json.take(':')) return false;
    std::size_t i = next;
    if (i == fields.size() || fields[i].name != name) {
      i = static_cast<std::size_t>(std::ranges::find(fields, name, &JsonField::name) -
                                   fields.begin());
    }
    if (i == fields.size()) {
      if (!json.skip_value(kMostLevels)) return false;
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((found & bit) != 0 || !take_value(json, fields[i], columns[i])) return false;
    found |= bit;
    next = i + 1;
  } while (json.take(','));
  const bool has_all = std::popcount(found) == static_cast<int>(fields.size());
  return has_all && json.take('}') && json.is_over();
}

}  // namespace

std::optional<std::vector<JsonColumn>> read_flat_columns(std::string_view text,
                                                         std::span<const JsonField> fields) {
  if (fields.size() > kMostFields) return std::nullopt;
  std::vector<JsonColumn> columns(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].is_list) {
      columns[i].list_ends.push_back(0);
      columns[i].numbers.reserve(text.size() / kListBytes);
    }
    if (fields[i].kind == JsonKind::kText) columns[i].text_ends.push_back(0);
  }
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    FlatJson json(line);
    if (!json.is_over() && !take_object(json, fields, columns)) return std::nullopt;
  }
  return columns;
}

}  // namespace mcsim
