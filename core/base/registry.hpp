#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/guarded.hpp"
#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/base/suggest.hpp"

// Map names to objects. The members of each kind (systems, optimisers, trace formats, …) are listed
// once, as a TypeList; the registry, the command line, Python, tests and documentation are derived
// from it. A member declares
//
//   struct Params { …; static constexpr auto fields(); };
//   static constexpr ComponentInfo kInfo{.name, .summary, .reference};
//   T(Params, Context);
//
// or, if construction can fail, `static absl::StatusOr<std::unique_ptr<Interface>> make` with the
// same parameters, and derives from the list's interface.
namespace mcsim {

template <class... Ts>
struct TypeList {};

// One member of a list, with its type erased.
template <class Interface, class Context>
struct Entry {
  ComponentInfo info;
  std::vector<ParamInfo> params;
  std::function<absl::StatusOr<std::unique_ptr<Interface>>(const ParamMap&, Context)> make;
};

// `kind` names the list in messages: "system", "optimizer", "format".
template <class Interface, class Context>
class Registry {
 public:
  using EntryType = Entry<Interface, Context>;

  template <class... Ts>
  Registry(const char* kind, TypeList<Ts...>) : kind_(kind), entries_{entry_of<Ts>()...} {}

  const std::vector<EntryType>& entries() const { return entries_; }

  // A copy with more members; fails if a name is taken or not valid.
  absl::StatusOr<Registry> with(const std::vector<EntryType>& more) const {
    Registry all = *this;
    for (const EntryType& entry : more) {
      const std::string_view name = entry.info.name;
      constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
      if (name.empty() || name.find_first_not_of(kLetters) != std::string_view::npos) {
        return invalid_argument("'{}' is not a valid {} name: expected {}", name, kind_,
                                "lower-case letters, digits and '-'");
      }
      if (all.find(name).ok()) return invalid_argument("{} '{}' exists already", kind_, name);
      all.entries_.push_back(entry);
    }
    return all;
  }

  // A copy with one more member, which replaces the member with the same name.
  Registry with_in_place(EntryType entry) const {
    Registry all = *this;
    std::erase_if(all.entries_, [&](const EntryType& old) {
      return std::string_view(old.info.name) == entry.info.name;
    });
    all.entries_.push_back(std::move(entry));
    return all;
  }

  // A copy in which every object made is wrapped in a Wrapper.
  template <class Wrapper>
  Registry wrapped() const {
    Registry all = *this;
    for (EntryType& entry : all.entries_) {
      entry.make = [make = std::move(entry.make)](
                       const ParamMap& params,
                       Context context) -> absl::StatusOr<std::unique_ptr<Interface>> {
        MCSIM_ASSIGN_OR_RETURN(auto made, make(params, std::move(context)));
        return std::make_unique<Wrapper>(std::move(made));
      };
    }
    return all;
  }

  absl::StatusOr<const EntryType*> find(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const EntryType& entry : entries_) {
      if (entry.info.name == name) return &entry;
      names.push_back(entry.info.name);
    }
    return not_found("unknown {} '{}'{}", kind_, name, did_you_mean(name, names));
  }

  // Find the member, check the parameters and construct it; an error names the member.
  absl::StatusOr<std::unique_ptr<Interface>> make(std::string_view name, const ParamMap& params,
                                                  Context context) const {
    return guarded(kind_, [&]() -> absl::StatusOr<std::unique_ptr<Interface>> {
      MCSIM_ASSIGN_OR_RETURN(const EntryType* entry, find(name));
      auto made = entry->make(params, std::move(context));
      if (made.ok()) return made;
      return absl::Status(made.status().code(),
                          fmt::format("{}: {}", name, message_of(made.status())));
    });
  }

 private:
  template <class T>
  static EntryType entry_of() {
    return {
        T::kInfo, describe<typename T::Params>(),
        [](const ParamMap& given, Context context) -> absl::StatusOr<std::unique_ptr<Interface>> {
          MCSIM_ASSIGN_OR_RETURN(auto params, parse_params<typename T::Params>(given));
          if constexpr (requires { T::make(std::move(params), std::move(context)); }) {
            return T::make(std::move(params), std::move(context));
          } else {
            return std::make_unique<T>(std::move(params), std::move(context));
          }
        }};
  }

  const char* kind_;
  std::vector<EntryType> entries_;
};

}  // namespace mcsim
