#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mcsim {

// A trace of other people, found under MCSIM_TRACE_DIR and not part of mcsim.
// `missing` says why there is none; tests skip with it.
struct RealTrace {
  std::string text;  // decompressed
  std::string missing;
};

RealTrace real_trace(const std::string& name);

// The blocks of an ARC trace: lines `first count ignored ignored`.
std::vector<std::uint64_t> lis_keys(const std::string& text);

// The blocks of a LIRS trace: one a line, separated here and there by a `*`.
std::vector<std::uint64_t> line_keys(const std::string& text);

// Byte offsets of the reads of an MSR Cambridge trace, one a request.
std::vector<std::uint64_t> msr_read_offsets(const std::string& text);

}  // namespace mcsim
