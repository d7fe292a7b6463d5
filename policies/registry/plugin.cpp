#include "policies/registry/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>

#include "core/engine/policy/export_policies.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

template <class Function>
Function* function_of(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

absl::StatusOr<Library> open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return not_found("{}: no such file", path);
  }
  // dlopen() would search a name without a slash in the library path.
  Library library(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return invalid_argument("{}: cannot be loaded: {}", path, dlerror());
  return library;
}

absl::StatusOr<const ExportedPolicies*> policies_in(const Library& library,
                                                    const std::string& path) {
  const auto interface = function_of<const char*()>(library, "mcsim_policy_interface");
  const auto exported = function_of<const void*()>(library, "mcsim_exported_policies");
  if (interface == nullptr || exported == nullptr) {
    return invalid_argument("{}: exports no eviction policies; MCSIM_EXPORT_POLICIES(…) is missing",
                            path);
  }
  const std::string_view built_for = interface();
  if (built_for != kPolicyInterface) {
    return invalid_argument(
        "{}: built for {}, but this is {}: rebuild it with the headers of this version", path,
        built_for, kPolicyInterface);
  }
  return static_cast<const ExportedPolicies*>(exported());
}

struct Loaded {
  std::mutex loading;
  std::vector<Library> libraries;
};

Loaded& loaded() {
  static auto* const made = new Loaded;  // never destroyed: the registry points into the libraries
  return *made;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> load_policies(const std::string& path) {
  const std::lock_guard lock(loaded().loading);
  MCSIM_ASSIGN_OR_RETURN(Library library, open(path));
  MCSIM_ASSIGN_OR_RETURN(const ExportedPolicies* policies, policies_in(library, path));
  // dlopen() returns the same handle for the same library.
  if (std::ranges::find(loaded().libraries, library) == loaded().libraries.end()) {
    if (const absl::Status added = add_eviction_policies(*policies); !added.ok()) {
      return absl::Status(added.code(), fmt::format("{}: {}", path, message_of(added)));
    }
    loaded().libraries.push_back(std::move(library));
  }
  std::vector<std::string> names;
  for (const auto& entry : *policies) names.push_back(entry.info.name);
  return names;
}

}  // namespace mcsim
