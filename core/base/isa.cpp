#include "core/base/isa.hpp"

#include <cstdlib>

namespace mcsim {

Isa best_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("bmi2")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("popcnt")) {
    return Isa::kAvx2;
  }
#endif
  return Isa::kPortable;
}

absl::StatusOr<Isa> isa_from_environment() {
  const Isa best = best_isa();
  const char* wanted = std::getenv("MCSIM_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  MCSIM_ASSIGN_OR_RETURN(const Isa named, choice_named<Isa>("MCSIM_ISA", wanted));
  if (named > best) {
    return invalid_argument("MCSIM_ISA: this processor does not support {}; its best set is {}",
                            wanted, name_of(best));
  }
  return named;
}

Isa isa() {
  static const Isa chosen = isa_from_environment().value_or(best_isa());
  return chosen;
}

}  // namespace mcsim
