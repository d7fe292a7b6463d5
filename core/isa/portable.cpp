#include "core/isa/loops.hpp"

#define MCSIM_ISA portable
#include "core/isa/loops.inl"
