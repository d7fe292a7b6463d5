#pragma once

namespace mcsim {

// Asks for the cache line of what is going to be written. The empty statement is there
// because GCC holds a function that only prefetches to be without effect, and drops calls
// to it unless it has inlined them early: several policies fetched nothing so.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace mcsim
