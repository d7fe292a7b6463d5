#include "core/trace/formats/system_call.hpp"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mcsim {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// Returns the position after the quoted string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Returns the position after the path that begins at `at`: 3</data/a.db>, 3</dev/null<char 1:3>>.
std::size_t skip_path(std::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    depth += text[i] == '<' ? 1 : text[i] == '>' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return at + 1;
}

// Whether a path may begin at `at`: after a descriptor, but not in 1<<4.
bool is_path(std::string_view text, std::size_t at) {
  const bool is_shift = at + 1 < text.size() && text[at + 1] == '<';
  return text[at] == '<' && at > 0 && !is_shift && absl::ascii_isalnum(text[at - 1]);
}

// Splits the arguments after an opening bracket. Returns the position after the closing one, or
// kNone.
std::size_t split_arguments(std::string_view text, std::size_t at,
                            std::vector<std::string_view>& arguments) {
  std::size_t begin = at;
  const auto add = [&] {
    const std::string_view argument = text.substr(begin, at - begin);
    if (!argument.empty()) arguments.push_back(without_leading_blanks(argument));
    begin = at + 1;
  };
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (is_path(text, at)) {
      at = skip_path(text, at);
      continue;
    }
    const bool closes = c == ')' || c == ']' || c == '}';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (depth == 0 && (c == ',' || closes)) add();
    if (depth == 0 && closes) return at + 1;
    if (closes) --depth;
    ++at;
  }
  return kNone;
}

// Returns the duration at the end, <0.000012>, in nanoseconds; -1 without one.
Nanoseconds duration_of(std::string_view text) {
  const std::size_t begin = text.rfind('<');
  if (begin == kNone || !text.ends_with('>')) return -1;
  double seconds = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [after, error] = std::from_chars(text.data() + begin + 1, end, seconds);
  if (error != std::errc() || after != end || seconds < 0 || seconds > 1e9) return -1;
  return std::llround(seconds * 1e9);
}

}  // namespace

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::string_view path_of_descriptor(std::string_view text) {
  const auto open =
      static_cast<std::size_t>(std::ranges::find_if_not(text, absl::ascii_isdigit) - text.begin());
  if (open == text.size() || text[open] != '<') return {};
  return text.substr(open + 1, text.find_first_of("<>", open + 1) - open - 1);
}

std::vector<std::string_view> elements_of(std::string_view text) {
  std::vector<std::string_view> elements;
  if (!text.starts_with('[') && !text.starts_with('{')) return {};
  if (split_arguments(text, 1, elements) != text.size()) return {};
  return elements;
}

std::optional<SystemCall> parse_system_call(std::string_view text) {
  SystemCall call;
  const std::size_t open = text.find('(');
  if (open == kNone || open == 0) return std::nullopt;
  call.name = text.substr(0, open);
  const auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  if (!std::ranges::all_of(call.name, is_word)) return std::nullopt;
  const std::size_t close = split_arguments(text, open + 1, call.arguments);
  if (close == kNone) return std::nullopt;
  std::string_view rest = without_leading_blanks(text.substr(close));
  if (!rest.starts_with("= ") || rest.size() < 3) return std::nullopt;
  rest.remove_prefix(2);
  call.duration = duration_of(rest);
  call.result_text = rest;
  call.result = leading_number(rest);
  if (!call.result && rest.front() != '?') return std::nullopt;
  return call;
}

}  // namespace mcsim
