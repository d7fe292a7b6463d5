#pragma once

#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/base/types.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {

// What can be said of one VM's requests without simulating anything.
struct VmSummary {
  Count requests = 0;  // reads and writes
  Count discards = 0;
  Count read_requests = 0;
  Count blocks = 0;  // accesses: every request counts each block it touches
  Count read_blocks = 0;
  Count unique_blocks = 0;
  Count unique_read_blocks = 0;
  std::uint64_t bytes = 0;
  Nanoseconds first_time = 0;
  Nanoseconds last_time = 0;
  std::uint32_t largest_request = 0;
  double median_request = 0;  // bytes
};

// Summarises a trace in one pass. The distinct blocks of a VM are a bitmap cut
// into words of 64 neighbouring blocks, the words in a hash table: a request of
// many blocks costs one look-up for 64 of them. Memory grows with the distinct
// blocks (at worst some 40 bytes each, with locality under one) and with the
// distinct request sizes, not with the length of the trace.
class TraceSummary {
 public:
  // An object is one block, whatever its size.
  explicit TraceSummary(std::uint32_t block_bytes, TraceKind kind = TraceKind::kBlocks)
      : block_bytes_(block_bytes), kind_(kind) {}

  // VMs are numbered as in the trace; times may come in any order.
  void add(const RequestsView& chunk);

  // One per VM number seen, in order.
  std::vector<VmSummary> vms() const;

  // All VMs together; blocks of different VMs are different.
  VmSummary total() const;

 private:
  struct Word {
    std::uint64_t touched = 0;
    std::uint64_t read = 0;
  };
  struct Vm {
    VmSummary summary;
    boost::unordered_flat_map<std::uint64_t, Word> words;
    boost::unordered_flat_map<std::uint32_t, Count> sizes;
  };

  void touch(Vm& vm, std::uint64_t first, std::uint64_t last, bool is_read);

  std::uint32_t block_bytes_;
  TraceKind kind_;
  std::vector<Vm> vms_;
};

}  // namespace mcsim
