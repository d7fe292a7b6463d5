#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"

// Declared parameters. A component lists its parameters once:
//
//   struct Params {
//     Count iterations = 10'000;
//     static constexpr auto fields() {
//       return std::tuple{Field{"iterations", &Params::iterations, "neighbours tried", 1}};
//     }
//   };
//
// Only the member initialiser defines the default. The strict parser, the YAML check, `mcsim
// describe` and the documentation are derived from fields().
namespace mcsim {

// The types of parameter values as they come from YAML or Python. PerVm has one number per VM, by
// name.
using PerVm = std::map<std::string, double>;
using ParamValue = std::variant<bool, std::int64_t, double, std::string, PerVm>;
using ParamMap = std::map<std::string, ParamValue>;

// A duration; YAML may write it as "1h" or "60 s".
struct Duration {
  Nanoseconds ns = 0;
  friend bool operator==(const Duration&, const Duration&) = default;
};

template <class Owner, class T>
struct Field {
  const char* name;
  T Owner::* member;
  const char* help;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

template <class Owner, class T>
Field(const char*, T Owner::*, const char*) -> Field<Owner, T>;
template <class Owner, class T>
Field(const char*, T Owner::*, const char*, double) -> Field<Owner, T>;
template <class Owner, class T>
Field(const char*, T Owner::*, const char*, double, double) -> Field<Owner, T>;

struct NoParams {
  static constexpr auto fields() { return std::tuple{}; }
};

enum class ParamKind : std::uint8_t {
  kBool,
  kInteger,
  kReal,
  kDuration,
  kChoice,
  kText,
  kPerVm,
};

// The public description of one parameter.
struct ParamInfo {
  std::string name;
  std::string help;
  ParamKind kind;
  ParamValue default_value;
  double min;
  double max;
  std::vector<std::string> choices;
};

// The public description of a component, without its parameters.
struct ComponentInfo {
  const char* name;       // key in YAML and Python: [a-z0-9-]+
  const char* summary;    // one sentence
  const char* reference;  // the publication whose algorithm this follows
};

namespace params_internal {

std::string unknown_parameter(std::string_view name, const std::vector<ParamInfo>& known);

template <class T>
constexpr ParamKind kind_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return ParamKind::kBool;
  } else if constexpr (std::is_same_v<T, Duration>) {
    return ParamKind::kDuration;
  } else if constexpr (std::is_same_v<T, PerVm>) {
    return ParamKind::kPerVm;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return ParamKind::kText;
  } else if constexpr (std::is_enum_v<T>) {
    return ParamKind::kChoice;
  } else if constexpr (std::is_integral_v<T>) {
    return ParamKind::kInteger;
  } else {
    static_assert(std::is_floating_point_v<T>, "a parameter of a type that YAML cannot hold");
    return ParamKind::kReal;
  }
}

template <class T>
std::vector<std::string> choices_of() {
  if constexpr (std::is_enum_v<T>) return choice_names<T>();
  return {};
}

template <class T>
ParamValue to_value(const T& value) {
  if constexpr (std::is_same_v<T, Duration>) {
    return value.ns;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return value;
  }
}

template <class T>
absl::Status assign_choice(const ParamInfo& info, const ParamValue& given, T& target) {
  const auto* text = std::get_if<std::string>(&given);
  if (text == nullptr) {
    return invalid_argument("{}: expected one of {}", info.name, fmt::join(info.choices, ", "));
  }
  MCSIM_ASSIGN_OR_RETURN(target, choice_named<T>(info.name, *text));
  return absl::OkStatus();
}

template <class T>
absl::Status assign_as_it_is(const ParamInfo& info, const ParamValue& given, T& target) {
  const auto* value = std::get_if<T>(&given);
  if (value == nullptr) {
    constexpr const char* kWanted = std::is_same_v<T, bool>    ? "true or false"
                                    : std::is_same_v<T, PerVm> ? "a map from VM name to number"
                                                               : "text";
    return invalid_argument("{}: expected {}", info.name, kWanted);
  }
  target = *value;
  return absl::OkStatus();
}

// Return whether a cast to an integer type is defined.
template <class T>
bool fits(double number) {
  constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  return number >= static_cast<double>(std::numeric_limits<T>::min()) && number < kEnd;
}

// Assign a number of one kind to a parameter of another kind if nothing is lost. The range is
// checked before the cast.
template <class T>
absl::Status assign_number(const ParamInfo& info, const ParamValue& given, T& target) {
  constexpr bool kIsDuration = std::is_same_v<T, Duration>;
  using Stored = std::conditional_t<kIsDuration, Nanoseconds, T>;
  const auto* whole = std::get_if<std::int64_t>(&given);
  const auto* real = std::get_if<double>(&given);
  if (whole == nullptr && real == nullptr) {
    return invalid_argument("{}: expected {}", info.name,
                            kIsDuration ? "a length of time such as 1h" : "a number");
  }
  const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
  if constexpr (std::is_integral_v<T>) {
    if (whole == nullptr && std::trunc(number) != number) {
      return invalid_argument("{}: expected a whole number, got {}", info.name, number);
    }
  }
  if (!(number >= info.min && number <= info.max)) {
    return out_of_range("{}: {} is outside [{}, {}]", info.name, number, info.min, info.max);
  }
  if constexpr (std::is_integral_v<Stored>) {
    using Limits = std::numeric_limits<Stored>;
    if (whole != nullptr ? !std::in_range<Stored>(*whole) : !fits<Stored>(number)) {
      return out_of_range("{}: {} is outside [{}, {}]", info.name, number,
                          std::max(info.min, static_cast<double>(Limits::min())),
                          std::min(info.max, static_cast<double>(Limits::max())));
    }
  }
  const Stored value = whole != nullptr ? static_cast<Stored>(*whole) : static_cast<Stored>(number);
  if constexpr (kIsDuration) {
    target.ns = value;
  } else {
    target = value;
  }
  return absl::OkStatus();
}

template <class T>
absl::Status assign(const ParamInfo& info, const ParamValue& given, T& target) {
  if constexpr (std::is_enum_v<T>) {
    return assign_choice(info, given, target);
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, PerVm>) {
    return assign_as_it_is(info, given, target);
  } else {
    return assign_number(info, given, target);
  }
}

}  // namespace params_internal

template <class Params>
std::vector<ParamInfo> describe() {
  using namespace params_internal;
  std::vector<ParamInfo> infos;
  const Params defaults{};
  std::apply(
      [&](const auto&... field) {
        (infos.push_back(
             {.name = field.name,
              .help = field.help,
              .kind = kind_of<std::remove_cvref_t<decltype(defaults.*field.member)>>(),
              .default_value = to_value(defaults.*field.member),
              .min = field.min,
              .max = field.max,
              .choices = choices_of<std::remove_cvref_t<decltype(defaults.*field.member)>>()}),
         ...);
      },
      Params::fields());
  return infos;
}

// The values of Params as a map; parse_params() turns it back.
template <class Params>
ParamMap param_map(const Params& params) {
  ParamMap map;
  std::apply(
      [&](const auto&... field) {
        (map.emplace(field.name, params_internal::to_value(params.*field.member)), ...);
      },
      Params::fields());
  return map;
}

// Fill Params from a map. The error for an unknown name, a wrong type or a value out of range names
// the parameter and the valid values.
template <class Params>
absl::StatusOr<Params> parse_params(const ParamMap& given) {
  const std::vector<ParamInfo> infos = describe<Params>();
  Params params{};
  for (const auto& entry : given) {
    const std::string& name = entry.first;
    const ParamValue& value = entry.second;
    absl::Status assigned = absl::OkStatus();
    std::size_t index = 0;
    const auto try_field = [&](const auto& field) {
      if (name != field.name) return ++index, false;
      assigned = params_internal::assign(infos[index], value, params.*field.member);
      return true;
    };
    const bool known = std::apply([&](const auto&... field) { return (try_field(field) || ...); },
                                  Params::fields());
    if (!known) return absl::NotFoundError(params_internal::unknown_parameter(name, infos));
    if (!assigned.ok()) return assigned;
  }
  return params;
}

}  // namespace mcsim
