#include "core/trace/interning/request_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mcsim::interning {
namespace {

absl::Status check_classes(const RequestsView& chunk, std::string_view vm) {
  if (chunk.of_class.size() != chunk.size()) {
    return invalid_argument("{}: {} classes of {} requests: expected a trace with a column of them",
                            vm, chunk.of_class.size(), chunk.size());
  }
  const auto wrong = std::ranges::find_if(
      chunk.of_class, [](std::uint8_t of_class) { return of_class >= kMostClasses; });
  if (wrong == chunk.of_class.end()) return absl::OkStatus();
  return invalid_argument("{}: a request of class {}: expected 0 to {}", vm, *wrong,
                          kMostClasses - 1);
}

absl::Status check_response_times(const RequestsView& chunk, std::string_view vm) {
  if (chunk.response.size() != chunk.size()) {
    return invalid_argument("{}: {} response times of {} requests", vm, chunk.response.size(),
                            chunk.size());
  }
  const auto wrong =
      std::ranges::find_if(chunk.response, [](Nanoseconds took) { return took < -1; });
  if (wrong == chunk.response.end()) return absl::OkStatus();
  return invalid_argument("{}: a request took {} ns: expected a response time, or -1 for unknown",
                          vm, *wrong);
}

}  // namespace

absl::Status check_options(const ExpandOptions& options, TimeBase time_base) {
  if (options.block_bytes == 0) return invalid_argument("block size: must be positive");
  if (options.line_blocks == 0) return invalid_argument("line: must have at least one block");
  if (options.line_blocks > 1 && options.key != BlockKey::kAligned) {
    return invalid_argument("line: {} keys have no lines of blocks", name_of(options.key));
  }
  const std::uint64_t line_bytes = std::uint64_t{options.block_bytes} * options.line_blocks;
  if (options.cut_bytes % line_bytes != 0) {
    return invalid_argument("cut: {} bytes are no multiple of lines of {}", options.cut_bytes,
                            line_bytes);
  }
  const double rate = options.sample_rate;
  if (!(rate > 0 && rate <= 1)) return out_of_range("sample rate: {} is outside (0, 1]", rate);
  if (rate < 1 && options.cut_bytes == 0) return invalid_argument("sample_rate needs cut_bytes");
  if (options.responses && time_base == TimeBase::kIndex) {
    return invalid_argument("response times: a trace without a clock has none");
  }
  return absl::OkStatus();
}

absl::Status check_optional_columns(const RequestsView& chunk, const ExpandOptions& options,
                                    std::string_view vm) {
  if (options.responses) MCSIM_RETURN_IF_ERROR(check_response_times(chunk, vm));
  return options.classes ? check_classes(chunk, vm) : absl::OkStatus();
}

absl::Status request_error(const RequestsView& chunk, std::size_t i, Nanoseconds shift,
                           Nanoseconds latest, const RequestStream& stream) {
  if (chunk.op[i] > static_cast<std::uint8_t>(Op::kDiscard)) {
    return invalid_argument("{}: request {}: unknown operation {}", stream.name, stream.requests,
                            chunk.op[i]);
  }
  Nanoseconds at = 0;
  if (__builtin_add_overflow(chunk.time[i], shift, &at)) {
    return invalid_argument("{}: request {}: time {} + {} is beyond 64 bits", stream.name,
                            stream.requests, chunk.time[i], shift);
  }
  if (stream.requests == 0 && latest == stream.arrival) {
    return invalid_argument("{}: request {} is {} ns before it arrives", stream.name,
                            stream.requests, latest - at);
  }
  return invalid_argument("{}: request {} is {} ns earlier than the one before it: sort by time",
                          stream.name, stream.requests, latest - at);
}

absl::Status check_warm_up(std::span<const RequestStream> streams) {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  bool is_warmed = false;
  for (const RequestStream& stream : streams) {
    is_warmed = is_warmed || stream.warm_up > 0;
    if (stream.warm_up > 0) last = std::max(last, stream.warm_up_end);
    if (stream.warm_up_followed) first = std::min(first, *stream.warm_up_followed);
  }
  if (!is_warmed || last < first) return absl::OkStatus();
  return invalid_argument("warm-up: must end before the first request");
}

absl::Status check_responses(std::span<const RequestStream> streams) {
  for (const RequestStream& stream : streams) {
    if (stream.requests == 0 || stream.responded > 0) continue;
    return invalid_argument(
        "{}: none of its {} requests has a response time: expected a trace with a column of them",
        stream.name, stream.requests);
  }
  return absl::OkStatus();
}

}  // namespace mcsim::interning
