#pragma once

// Marks a function whose unsigned integers wrap on purpose: a hash, a random generator, arithmetic
// on the lanes of a register. Clang's -fsanitize=integer does not check it.
#ifdef __clang__
#define MCSIM_WRAPS __attribute__((no_sanitize("integer")))
#else
#define MCSIM_WRAPS
#endif
