#include "core/isa/loops.hpp"

#if defined(__x86_64__)
#define MCSIM_ISA avx512
#include "core/isa/loops.inl"
#endif
