#pragma once

#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/interning/accesses_sink.hpp"
#include "core/trace/interning/request_streams.hpp"

namespace mcsim::interning {

// The next request or departure of a VM, ordered by time, then by VM.
struct Due {
  Nanoseconds time;
  VmId vm;
  friend auto operator<=>(const Due&, const Due&) = default;
};

// The times of merged requests: as recorded, or whole seconds since the first request.
struct MergedTime {
  bool whole_seconds;
  Nanoseconds first;

  Nanoseconds of(Nanoseconds time) const {
    return whole_seconds ? (time - first) / kSecond * kSecond : time;
  }
};

// Appends the requests of all streams to the sink by (time, VM, position), and frees each stream
// after its last request. The columns are in the mapped `spill` if it is not null, otherwise in the
// streams. `departures` are in order of time. Discards are numbered in their order.
absl::Status merge(std::vector<RequestStream>& streams, const Spill* spill, MergedTime merged_time,
                   std::span<const Due> departures, AccessesSink& sink);

}  // namespace mcsim::interning
