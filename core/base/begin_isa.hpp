// Compile the code from here up to end_isa.hpp for the instruction set MCSIM_ISA: portable, avx2 or
// avx512 (core/base/isa.hpp). No include guard: a file may include this several times.
#if defined(__x86_64__)
#define MCSIM_ISA_NUMBER_portable 0
#define MCSIM_ISA_NUMBER_avx2 2
#define MCSIM_ISA_NUMBER_avx512 512
#define MCSIM_ISA_NUMBER_OF(isa) MCSIM_ISA_NUMBER_##isa
#define MCSIM_ISA_NUMBER(isa) MCSIM_ISA_NUMBER_OF(isa)
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
#define MCSIM_ISA_TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt,prfchw"
#elif MCSIM_ISA_NUMBER(MCSIM_ISA) == 2
#define MCSIM_ISA_TARGET "avx2,bmi,bmi2,lzcnt,popcnt,prfchw"
#endif
#else
#define MCSIM_ISA_NUMBER(isa) 0
#endif

#define MCSIM_PRAGMA(text) _Pragma(#text)
#if defined(MCSIM_ISA_TARGET) && defined(__clang__)
#define MCSIM_PRAGMA_TARGET(target_name) \
  MCSIM_PRAGMA(clang attribute push(__attribute__((target(target_name))), apply_to = function))
MCSIM_PRAGMA_TARGET(MCSIM_ISA_TARGET)
#elif defined(MCSIM_ISA_TARGET)
#pragma GCC push_options
#define MCSIM_PRAGMA_TARGET(target_name) MCSIM_PRAGMA(GCC target target_name)
MCSIM_PRAGMA_TARGET((MCSIM_ISA_TARGET))
#endif
