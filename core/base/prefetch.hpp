#pragma once

namespace mcsim {

// Prefetch the cache line at an address for writing. The empty asm statement is necessary: GCC
// considers a function that only prefetches to have no effect, and drops calls that it has not
// inlined early. Without it, several policies prefetched nothing.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace mcsim
