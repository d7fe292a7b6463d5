#pragma once

#include <cstdint>

#include "core/base/types.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {

// Counts of requests in the order of a file, and signs of wrong times and lengths.
struct RequestCounts {
  static constexpr std::uint32_t kBlockBytes = 4096;
  // Requests with fewer bytes are small.
  static constexpr std::uint32_t kSmallBytes = 64;

  Count rows = 0;
  Count reads = 0;
  Count discards = 0;
  Count blocks = 0;  // accesses to aligned blocks of reads and writes; an object is one block
  Count read_blocks = 0;
  Nanoseconds first_time = 0;  // the earliest
  Nanoseconds last_time = 0;   // the latest
  Count backwards = 0;         // requests before the one before them
  std::uint64_t gap = 0;       // the longest time between two requests in order
  Count gap_at = 0;            // the number of the request after it, from 1
  Count sized = 0;             // reads and writes with a length
  Count small = 0;             // sized requests below kSmallBytes
  Nanoseconds time = 0;        // of the last request

  void add(const RequestsView& requests, TraceKind kind);
};

}  // namespace mcsim
