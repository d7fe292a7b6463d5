#include "policies/registry/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

absl::Status built_for_another(const std::string& path, std::string_view built_for) {
  return invalid_argument(
      "{}: built for {}, but this is {}: rebuild it with the headers of this version", path,
      built_for, kPolicyInterface);
}

// Returns the interface line in the file of a library that cannot be loaded, or nothing.
// dlopen() fails where a library needs the Abseil of another distribution, and names only that.
std::string interface_line_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::size_t inside = bytes.find(", interface ");
  if (inside == std::string::npos) return {};
  const std::size_t before = bytes.rfind('\0', inside);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string line = bytes.substr(begin, bytes.find('\0', inside) - begin);
  return line.starts_with("mcsim ") ? line : std::string();
}

absl::StatusOr<Library> open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return not_found("{}: no such file", path);
  }
  // dlopen() would search a name without a slash in the library path.
  Library library(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library != nullptr) return library;
  const std::string reason = dlerror();
  const std::string built_for = interface_line_in(path);
  if (!built_for.empty() && built_for != kPolicyInterface) {
    return built_for_another(path, built_for);
  }
  return invalid_argument("{}: cannot be loaded: {}", path, reason);
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
  if (built_for != kPolicyInterface) return built_for_another(path, built_for);
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
