#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/base/types.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {

// Distinct blocks after each tenth of a trace.
using Growth = std::array<Count, 10>;

// Statistics of one VM's requests that need no simulation.
struct VmSummary {
  Count requests = 0;  // reads and writes
  Count discards = 0;
  Count read_requests = 0;
  Count blocks = 0;  // accesses: every block of every request
  Count read_blocks = 0;
  Count unique_blocks = 0;
  Count unique_read_blocks = 0;
  std::uint64_t bytes = 0;
  Nanoseconds first_time = 0;
  Nanoseconds last_time = 0;
  std::uint32_t largest_request = 0;
  double median_request = 0;  // bytes
  std::uint64_t write_bytes = 0;
  // Requests that begin where the VM's previous request ended, and their bytes. 0 for objects.
  Count sequential_requests = 0;
  std::uint64_t sequential_bytes = 0;
  Count once_blocks = 0;  // distinct blocks with one access
  // Accesses to the most popular 1 % and 10 % of the distinct blocks, rounded up to whole blocks.
  Count top_1_percent_accesses = 0;
  Count top_10_percent_accesses = 0;
  // The negated least-squares slope of log(accesses) over log(rank) of all distinct blocks; 0 for
  // one block.
  double zipf_exponent = 0;
  // By tenths of the requests, and of the time, of the whole trace; see `TraceExtent`.
  Growth growth_by_requests{};
  Growth growth_by_time{};
};

// Number of requests, and the times of the first and the last one.
struct TraceExtent {
  Count requests = 0;
  Nanoseconds first_time = 0;
  Nanoseconds last_time = 0;
};

// Summarises a trace in one pass. The distinct blocks of a VM are bitmaps of 64 adjacent blocks in
// a hash table, so a request of many blocks needs one look-up for 64 blocks. Further accesses are
// counted by groups of 16 adjacent blocks. Memory grows with the distinct blocks and the distinct
// request sizes, not with the length of the trace. A block takes at most some 70 bytes, and 64 more
// if it is accessed again; with locality 1 to 5. An object takes 20 to 40 bytes.
class TraceSummary {
 public:
  // An object is one block, whatever its size. `whole` defines the tenths of the growth.
  explicit TraceSummary(std::uint32_t block_bytes, TraceKind kind = TraceKind::kBlocks,
                        const TraceExtent& whole = {})
      : block_bytes_(block_bytes), kind_(kind), whole_(whole) {}

  // VMs are numbered as in the trace. The growth by time needs requests in order of time.
  void add(const RequestsView& chunk);

  // One per VM number seen, in order.
  std::vector<VmSummary> vms() const;

  // All VMs; blocks of different VMs are different.
  VmSummary total() const;

 private:
  static constexpr std::size_t kPart = 16;
  struct Word {
    std::uint64_t touched = 0;
    std::uint64_t read = 0;
    // By 16 blocks: the number of their entry in `Vm::repeats`, from 1; 0 if none is accessed
    // again.
    std::array<std::uint32_t, 4> repeats{};
  };
  struct Object {
    std::uint32_t accesses = 0;  // saturates
    bool is_read = false;
  };
  // Number of blocks by their number of accesses.
  using Histogram = boost::unordered_flat_map<std::uint32_t, Count>;
  struct Vm {
    VmSummary summary;
    boost::unordered_flat_map<std::uint64_t, Word> words;
    // Accesses to 16 blocks after each block's first one; saturates.
    std::deque<std::array<std::uint32_t, kPart>> repeats;
    boost::unordered_flat_map<std::uint64_t, Object> objects;
    boost::unordered_flat_map<std::uint32_t, Count> sizes;
    std::optional<std::uint64_t> end;  // of the previous request
  };

  void add_request(Vm& vm, std::uint64_t offset, std::uint32_t length, Op op);
  static void touch_object(Vm& vm, std::uint64_t key, bool is_read);
  static void touch_blocks(Vm& vm, std::uint64_t first, std::uint64_t last, bool is_read);
  static void count_repeats(Vm& vm, Word& word, std::uint64_t blocks);
  VmSummary completed(const Vm& vm) const;
  void record_growth(Nanoseconds now);
  static Histogram histogram_of(const Vm& vm);
  static void add_popularity(VmSummary& sum, const Histogram& blocks);

  std::uint32_t block_bytes_;
  TraceKind kind_;
  TraceExtent whole_;
  Count requests_ = 0;
  // Completed tenths.
  std::size_t tenths_of_requests_ = 0;
  std::size_t tenths_of_time_ = 0;
  std::vector<Vm> vms_;
};

}  // namespace mcsim
