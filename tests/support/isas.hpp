#pragma once

#include <vector>

#include "core/base/isa.hpp"

// Hot loops are tested in every form this machine can run, whichever is in use.
namespace mcsim {

inline std::vector<Isa> isas_here() {
  std::vector<Isa> isas;
  for (const auto& [name, isa] : Choices<Isa>::names) {
    if (isa <= best_isa()) isas.push_back(isa);
  }
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
