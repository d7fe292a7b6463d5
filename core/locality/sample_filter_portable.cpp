#include <cstring>

#include "core/base/random.hpp"
#include "core/locality/sample_filter_loops.hpp"

#define MCSIM_ISA portable
// clang-format off: the order matters
#include "core/base/begin_isa.hpp"
#include "core/locality/sample_filter_loops.inl"
#include "core/base/end_isa.hpp"
