#include "core/trace/request_counts.hpp"

#include <algorithm>

#include "core/base/wraps.hpp"

namespace mcsim {
namespace {

MCSIM_WRAPS std::uint64_t blocks_of(std::uint64_t offset, std::uint32_t length) {
  if (length == 0) return 0;
  const std::uint64_t last = offset + (length - 1);
  return last / RequestCounts::kBlockBytes - offset / RequestCounts::kBlockBytes + 1;
}

MCSIM_WRAPS std::uint64_t distance(Nanoseconds from, Nanoseconds to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

void RequestCounts::add(const RequestsView& requests, TraceKind kind) {
  if (requests.size() == 0) return;
  if (rows == 0) time = first_time = last_time = requests.time[0];
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Nanoseconds at = requests.time[i];
    const auto op = requests.op[i];
    const std::uint32_t length = requests.length[i];
    first_time = std::min(first_time, at);
    last_time = std::max(last_time, at);
    ++rows;
    if (at < time) {
      ++backwards;
    } else if (distance(time, at) > gap) {
      gap = distance(time, at);
      gap_at = rows;
    }
    time = at;
    if (op == static_cast<std::uint8_t>(Op::kDiscard)) {
      ++discards;
      continue;
    }
    const auto touched =
        static_cast<Count>(kind == TraceKind::kObjects ? 1 : blocks_of(requests.offset[i], length));
    const bool is_read = op == static_cast<std::uint8_t>(Op::kRead);
    blocks += touched;
    read_blocks += is_read ? touched : 0;
    reads += is_read ? 1 : 0;
    sized += length > 0 ? 1 : 0;
    small += length > 0 && length < kSmallBytes ? 1 : 0;
  }
}

}  // namespace mcsim
