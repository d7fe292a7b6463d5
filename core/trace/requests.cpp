#include "core/trace/requests.hpp"

#include <algorithm>

#include "core/base/checksum.hpp"
#include "core/base/quoted_for_message.hpp"

namespace mcsim {
namespace {

// Returns the length of the code point at the beginning of `text`, 0 if it is invalid: truncated,
// longer than necessary, a surrogate, or beyond U+10FFFF.
std::size_t code_point_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned two = first << 8 | byte(1);
  const bool is_wrong = (two >= 0xe080 && two < 0xe0a0) || (two >= 0xeda0 && two < 0xedc0) ||
                        (two >= 0xf080 && two < 0xf090) || (two >= 0xf490 && two < 0xf4c0);
  return is_wrong ? 0 : size;
}

// Returns the error in a row, "" if it is valid.
std::string complaint_of(const RequestsView& rows, TraceKind kind, std::size_t i, std::size_t vms,
                         Nanoseconds before) {
  if (rows.time[i] < before) {
    return fmt::format("time goes back from {} to {}", before, rows.time[i]);
  }
  if (rows.vm[i] >= vms) {
    return fmt::format("vm {} is not a position among {} names", rows.vm[i], vms);
  }
  if (rows.op[i] > 2) {
    return fmt::format("op: expected 0 (read), 1 (write) or 2 (discard), got {}", rows.op[i]);
  }
  if (kind == TraceKind::kBlocks && rows.offset[i] + rows.length[i] < rows.offset[i]) {
    return fmt::format("offset {} + length {} exceeds 64 bits", rows.offset[i], rows.length[i]);
  }
  if (rows.response[i] < -1) {
    return fmt::format("response: expected nanoseconds, or -1 for unknown, got {}",
                       rows.response[i]);
  }
  if (!rows.of_class.empty() && rows.of_class[i] >= kMostClasses) {
    return fmt::format("class: expected 0, which matters most, to {}, got {}", kMostClasses - 1,
                       rows.of_class[i]);
  }
  return "";
}

// Whether any row is wrong, without a branch for each.
bool any_wrong(const RequestsView& rows, TraceKind kind, std::size_t begin, std::size_t end,
               std::size_t vms, Nanoseconds before) {
  const bool has_offsets = kind == TraceKind::kBlocks;
  bool wrong = rows.time[begin] < before;
  for (std::size_t i = begin + 1; i < end; ++i) wrong |= rows.time[i] < rows.time[i - 1];
  for (std::size_t i = begin; i < end; ++i) {
    wrong |= rows.vm[i] >= vms;
    wrong |= rows.op[i] > 2;
    wrong |= has_offsets && rows.offset[i] + rows.length[i] < rows.offset[i];
    wrong |= rows.response[i] < -1;
  }
  for (std::size_t i = begin; i < end && !rows.of_class.empty(); ++i) {
    wrong |= rows.of_class[i] >= kMostClasses;
  }
  return wrong;
}

template <class T>
std::uint64_t checksum_of(std::span<const T> column, std::uint64_t seed) {
  return checksum(std::as_bytes(column), seed);
}

}  // namespace

bool is_vm_name(std::string_view name) {
  if (name.empty()) return false;
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f'; };
  if (std::ranges::all_of(name, is_plain)) return true;
  while (!name.empty()) {
    const std::size_t size = code_point_bytes(name);
    if (size == 0 || (size == 1 && (name[0] < ' ' || name[0] == '\x7f'))) return false;
    name.remove_prefix(size);
  }
  return true;
}

absl::Status check_vm_name(std::string_view name) {
  if (is_vm_name(name)) return absl::OkStatus();
  return invalid_argument(
      "the name of a VM must be text in UTF-8, without control characters, got '{}'",
      quoted_for_message(name));
}

absl::Status check_requests(const RequestsView& rows, TraceKind kind, std::size_t vms,
                            std::size_t first_row, Nanoseconds after) {
  const std::size_t count = rows.size();
  for (const std::size_t size :
       {rows.vm.size(), rows.op.size(), rows.offset.size(), rows.length.size(),
        rows.response.size(), rows.of_class.empty() ? count : rows.of_class.size()}) {
    if (size != count) return data_loss("columns of {} and {} rows", count, size);
  }
  constexpr std::size_t kStretch = 4096;
  for (std::size_t begin = 0; begin < count; begin += kStretch) {
    const std::size_t end = std::min(begin + kStretch, count);
    if (any_wrong(rows, kind, begin, end, vms, after)) {
      for (std::size_t i = begin; i < end; after = rows.time[i++]) {
        const std::string complaint = complaint_of(rows, kind, i, vms, after);
        if (!complaint.empty()) return data_loss("row {}: {}", first_row + i, complaint);
      }
    }
    after = rows.time[end - 1];
  }
  return absl::OkStatus();
}

std::uint64_t checksum_of(const RequestsView& rows, std::size_t first_row) {
  std::uint64_t sum = checksum_of(rows.time, first_row);
  sum = checksum_of(rows.vm, sum);
  sum = checksum_of(rows.op, sum);
  sum = checksum_of(rows.offset, sum);
  sum = checksum_of(rows.length, sum);
  sum = checksum_of(rows.response, sum);
  return rows.of_class.empty() ? sum : checksum_of(rows.of_class, sum);
}

}  // namespace mcsim
