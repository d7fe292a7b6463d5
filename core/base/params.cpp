#include "core/base/params.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/suggest.hpp"

namespace mcsim {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// All of the text as a number of that type.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::StatusOr<ParamValue> value_in(std::string_view text, const ParamInfo& info) {
  switch (info.kind) {
    case ParamKind::kBool:
      if (text == "true" || text == "false") return text == "true";
      return invalid_argument("{}: expected true or false, got '{}'", info.name, text);
    case ParamKind::kInteger:
    case ParamKind::kReal:
      if (const auto whole = number_in<std::int64_t>(text)) return *whole;
      if (const auto real = number_in<double>(text)) return *real;
      return invalid_argument("{}: expected a number, got '{}'", info.name, text);
    case ParamKind::kChoice:
    case ParamKind::kText:
      return std::string(text);
    case ParamKind::kDuration:
    case ParamKind::kPerVm:
      break;
  }
  return invalid_argument("{}: cannot be given in one line with others", info.name);
}

}  // namespace

absl::StatusOr<ParamMap> params_from_text(std::string_view text,
                                          const std::vector<ParamInfo>& known) {
  ParamMap params;
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return invalid_argument("expected PARAM=VALUE, got '{}'", item);
    }
    const std::string name(trimmed(item.substr(0, equals)));
    const auto info = std::ranges::find(known, name, &ParamInfo::name);
    if (info == known.end()) {
      return absl::NotFoundError(params_internal::unknown_parameter(name, known));
    }
    MCSIM_ASSIGN_OR_RETURN(params[name], value_in(trimmed(item.substr(equals + 1)), *info));
  }
  return params;
}

}  // namespace mcsim

namespace mcsim::params_internal {

std::string unknown_parameter(std::string_view name, const std::vector<ParamInfo>& known) {
  std::vector<std::string_view> names;
  for (const ParamInfo& info : known) names.push_back(info.name);
  if (names.empty()) return fmt::format("unknown parameter '{}': there are none", name);
  return fmt::format("unknown parameter '{}'{}", name, did_you_mean(name, names));
}

}  // namespace mcsim::params_internal
