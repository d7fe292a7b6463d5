#include "core/base/component_spec.hpp"

#include <charconv>
#include <cstdint>

namespace mcsim {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

namespace {

// The parts between separators outside of parentheses.
absl::StatusOr<std::vector<std::string_view>> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size() && depth >= 0; ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == separator && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (depth != 0) return invalid_argument("'{}': the parentheses do not match", text);
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

ParamValue value_of(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  std::int64_t whole = 0;
  if (read(text, whole)) return whole;
  double real = 0;
  if (read(text, real)) return real;
  return std::string(text);
}

absl::StatusOr<ParamMap> parse_values(std::string_view component, std::string_view text) {
  ParamMap params;
  if (text.empty()) return params;
  MCSIM_ASSIGN_OR_RETURN(const auto items, split(text, ','));
  for (const std::string_view item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return invalid_argument("{}: expected PARAM=VALUE, got '{}'", component, item);
    }
    params[std::string(item.substr(0, equals))] = value_of(item.substr(equals + 1));
  }
  return params;
}

}  // namespace

absl::StatusOr<ComponentSpec> parse_component(std::string_view text) {
  const std::size_t open = text.find('(');
  ComponentSpec spec{.name = std::string(text.substr(0, open)), .params = {}};
  if (spec.name.empty()) return invalid_argument("expected a name, got '{}'", text);
  if (open == std::string_view::npos) return spec;
  if (text.back() != ')') {
    return invalid_argument("expected NAME(PARAM=VALUE,…), got '{}'", text);
  }
  MCSIM_ASSIGN_OR_RETURN(spec.params,
                         parse_values(spec.name, text.substr(open + 1, text.size() - open - 2)));
  return spec;
}

absl::StatusOr<std::vector<ComponentSpec>> parse_components(std::string_view text, char separator) {
  std::vector<ComponentSpec> specs;
  MCSIM_ASSIGN_OR_RETURN(const auto parts, split(text, separator));
  for (const std::string_view part : parts) {
    MCSIM_ASSIGN_OR_RETURN(ComponentSpec spec, parse_component(part));
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace mcsim
