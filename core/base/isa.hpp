#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"

// The instruction sets of the hot loops. Each loop has one source, which is compiled for every set;
// the first call of isa() selects the set for the process. All sets give the same bits.
//
// A loop is declared next to its subject, as a template over the set; its body is an .inl file,
// which core/isa/{portable,avx2,avx512}.cpp include in turn. Callers write
//
//   with_isa([&]<Isa kIsa>() { exchange_keys<kIsa>(table, keys, first, previous); });
//
// A file that defines such loops includes all its headers first, then switches the compiler to a
// set for the remaining lines:
//
//   #include …                                        // compiled for any processor
//   #define MCSIM_ISA avx2
//   #include "core/base/begin_isa.hpp"
//   #include "core/…/loops.inl"                       // in namespace mcsim::MCSIM_ISA
//   #include "core/base/end_isa.hpp"
namespace mcsim {

enum class Isa : std::uint8_t {
  kPortable,  // the instructions that the compiler assumes for every processor
  kAvx2,      // x86-64-v3
  kAvx512,    // x86-64-v4
};

template <>
struct Choices<Isa> {
  static constexpr std::array names{std::pair{"portable", Isa::kPortable},
                                    std::pair{"avx2", Isa::kAvx2},
                                    std::pair{"avx512", Isa::kAvx512}};
};

// The best set of this processor.
Isa best_isa();

// The set that the environment variable MCSIM_ISA names, or else best_isa(). Fails if the name is
// unknown or this processor does not support the set.
absl::StatusOr<Isa> isa_from_environment();

// The set of this process, selected once; an invalid MCSIM_ISA is ignored.
Isa isa();

// Call work<kIsa>() for the set of this process.
template <class Work>
decltype(auto) with_isa(Work&& work) {
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::kAvx512:
      return work.template operator()<Isa::kAvx512>();
    case Isa::kAvx2:
      return work.template operator()<Isa::kAvx2>();
    case Isa::kPortable:
      break;
  }
#endif
  return work.template operator()<Isa::kPortable>();
}

}  // namespace mcsim
