#pragma once

#include <vector>

#include "core/base/isa.hpp"
#include "core/isa/with_isa.hpp"

// Hot loops are tested in every form this machine can run, whichever is in use.
namespace mcsim {

inline std::vector<Isa> isas_here() {
  std::vector<Isa> isas{Isa::kPortable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) isas.push_back(Isa::kAvx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    isas.push_back(Isa::kAvx512);
  }
#endif
  return isas;
}

template <class Work>
decltype(auto) with_this_isa(Isa which, Work&& work) {
#if defined(__x86_64__)
  if (which == Isa::kAvx512) return work.template operator()<Isa::kAvx512>();
  if (which == Isa::kAvx2) return work.template operator()<Isa::kAvx2>();
#endif
  return work.template operator()<Isa::kPortable>();
}

}  // namespace mcsim
