#pragma once

#include <vector>

#include <absl/base/config.h>

#include "core/base/registry.hpp"
#include "core/engine/policy/interface.hpp"  // generated: MCSIM_INTERFACE, the version and a digest
#include "core/engine/policy/policy_cache.hpp"

// Export eviction policies from a separate library, compiled against the installed headers and
// loaded at run time:
//
//   MCSIM_EXPORT_POLICIES(mine::TwoChoices, mine::Another);
//
// once in a library, outside of any namespace. policies/README.md explains the build.

#define MCSIM_TEXT_INNER(x) #x
#define MCSIM_TEXT(x) MCSIM_TEXT_INNER(x)

#if defined(ABSL_LTS_RELEASE_VERSION)
#define MCSIM_ABSEIL MCSIM_TEXT(ABSL_LTS_RELEASE_VERSION ABSL_OPTION_INLINE_NAMESPACE_NAME)
#else
#define MCSIM_ABSEIL "at head"
#endif

#if defined(_LIBCPP_ABI_VERSION)
#define MCSIM_LIBRARY "libc++ ABI " MCSIM_TEXT(_LIBCPP_ABI_VERSION)
#elif defined(_GLIBCXX_DEBUG)
#define MCSIM_LIBRARY "libstdc++ in debug mode"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define MCSIM_LIBRARY "libstdc++ with the ABI before C++11"
#else
#define MCSIM_LIBRARY "libstdc++"
#endif

#if defined(__clang__)
#define MCSIM_COMPILED_BY "Clang " MCSIM_TEXT(__clang_major__)
#else
#define MCSIM_COMPILED_BY "GCC " MCSIM_TEXT(__GNUC__)
#endif

namespace mcsim {

// The library and the program exchange objects, so both must use the same memory layout: the same
// headers, Abseil, standard library and compiler.
inline constexpr char kPolicyInterface[] =
    "mcsim " MCSIM_INTERFACE ", Abseil " MCSIM_ABSEIL ", " MCSIM_LIBRARY ", " MCSIM_COMPILED_BY;

using ExportedPolicies = std::vector<Entry<TierCache, PolicySetup>>;

template <class... Ps>
const ExportedPolicies& exported_policies() {
  static const Registry<TierCache, PolicySetup> registry("eviction policy",
                                                         TypeList<PolicyCacheOf<Ps>...>{});
  return registry.entries();
}

}  // namespace mcsim

// Two functions; the first is plain C and is called first.
#define MCSIM_EXPORT_POLICIES(...)                                                  \
  extern "C" [[gnu::visibility("default")]] const char* mcsim_policy_interface() {  \
    return ::mcsim::kPolicyInterface;                                               \
  }                                                                                 \
  extern "C" [[gnu::visibility("default")]] const void* mcsim_exported_policies() { \
    return &::mcsim::exported_policies<__VA_ARGS__>();                              \
  }                                                                                 \
  static_assert(true, "a semicolon belongs after MCSIM_EXPORT_POLICIES(…)")
