#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"

// Which instructions the hot loops use. The loops exist once in the source and
// are compiled for each set; one is picked when the process first asks. All give
// the same bits.
//
// A loop is declared beside its subject, as a template over the set; its body is an
// .inl file, which core/isa/{portable,avx2,avx512}.cpp include in turn. Callers write
//
//   with_isa([&]<Isa kIsa>() { exchange_keys<kIsa>(table, keys, first, previous); });
//
// A file that holds such loops includes all it needs, then switches the compiler
// to a set for the rest of the file:
//
//   #include …                                        // compiled for any processor
//   #define MCSIM_ISA avx2
//   #include "core/base/begin_isa.hpp"
//   #include "core/…/loops.inl"                       // in namespace mcsim::MCSIM_ISA
//   #include "core/base/end_isa.hpp"
namespace mcsim {

enum class Isa : std::uint8_t {
  kPortable,  // whatever the compiler assumes of every processor
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

// That, or the one that the environment variable MCSIM_ISA names; fails if that is no set, or not
// one of this processor's.
absl::StatusOr<Isa> isa_from_environment();

// The same, decided once; a wrong MCSIM_ISA counts as none.
Isa isa();

// Calls work<kIsa>() for that one.
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
