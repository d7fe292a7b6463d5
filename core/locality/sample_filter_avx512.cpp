#include <cstring>

#include "core/base/random.hpp"
#include "core/locality/sample_filter_loops.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MCSIM_ISA avx512
// clang-format off: the order matters
#include "core/base/begin_isa.hpp"
#include "core/locality/sample_filter_loops.inl"
#include "core/base/end_isa.hpp"
