#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.hpp"

// Enumerations that users name. The names are written once, next to the enum:
//
//   template <> struct Choices<Mode> {
//     static constexpr std::array names{std::pair{"eager", Mode::kEager}, …};
//   };
namespace mcsim {

template <class E>
struct Choices;

template <class E>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : Choices<E>::names) names.emplace_back(name);
  return names;
}

// All names, for messages: "eager, lazy".
template <class E>
std::string choice_list() {
  std::string list;
  for (const auto& [name, value] : Choices<E>::names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

// The name of a value; "" if it has none.
template <class E>
constexpr const char* name_of(E value) {
  for (const auto& [name, choice] : Choices<E>::names) {
    if (choice == value) return name;
  }
  return "";
}

// The value with that name; the error lists the valid choices of `parameter`.
template <class E>
absl::StatusOr<E> choice_named(std::string_view parameter, std::string_view name) {
  for (const auto& [known, value] : Choices<E>::names) {
    if (known == name) return value;
  }
  return invalid_argument("{}: unknown choice '{}' (one of {})", parameter, name, choice_list<E>());
}

}  // namespace mcsim
