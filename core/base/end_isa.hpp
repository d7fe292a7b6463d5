// End the section that begin_isa.hpp began.
#if defined(MCSIM_ISA_TARGET) && defined(__clang__)
#pragma clang attribute pop
#elif defined(MCSIM_ISA_TARGET)
#pragma GCC pop_options
#endif
