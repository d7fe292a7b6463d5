#include "core/trace/formats/libcachesim_records.hpp"

#include <algorithm>

#include "core/base/registry.hpp"
#include "core/trace/formats/blktrace.hpp"
#include "core/trace/formats/lcs.hpp"
#include "core/trace/formats/libcachesim_operations.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/formats/twr.hpp"
#include "core/trace/formats/vscsi.hpp"

namespace mcsim {
namespace {

using StrictFormats =
    TypeList<BlktraceReader, VscsiReader, LcsReader, OracleGeneralReader, TwrReader, TwrNsReader,
             StandardIqibhReader, OracleGeneralOpNsReader, OracleSysTwrNsReader, OracleAkamaiReader,
             OracleCf1Reader, OracleWiki16uReader, OracleWiki19uReader>;
using OtherFormats = TypeList<StandardIqiReader, StandardIqqReader, StandardIiiReader, AkamaiReader,
                              Cf1Reader, Wiki19uReader>;

// Returns the first format with a fit of at least `fit`, or "".
template <class... Formats>
std::string format_with(Fit fit, const Head& head, TypeList<Formats...>) {
  std::string found;
  const auto fits = [&]<class Format>() {
    const Guess guess = Format::guess(head);
    if (guess.fit >= fit) found = guess.format;
    return guess.fit >= fit;
  };
  static_cast<void>((fits.template operator()<Formats>() || ...));
  return found;
}

}  // namespace

std::string certain_record_format(const Head& head) {
  return format_with(Fit::kCertain, head, StrictFormats{});
}

std::string likely_record_format(const Head& head) {
  std::string found = certain_record_format(head);
  if (found.empty()) found = format_with(Fit::kPossible, head, StrictFormats{});
  return found.empty() ? format_with(Fit::kPossible, head, OtherFormats{}) : found;
}

LibCacheSimReader::LibCacheSimReader(const char* name, const LibCacheSimLayout& layout,
                                     ReaderContext context)
    : RecordReader(std::move(context)), name_(name), is_strict_(layout.is_strict()) {
  const RecordStruct record = *parse_record_struct(layout.record);
  record_bytes_ = record.bytes;
  const auto field = [&](std::size_t position) {
    return position == 0 ? RecordField{} : record.fields[position - 1];
  };
  time_ = field(layout.time);
  id_ = field(layout.id);
  size_ = field(layout.size);
  value_ = field(layout.value);
  op_ = field(layout.op);
  next_ = field(layout.next);
}

absl::StatusOr<RecordLayout> LibCacheSimReader::begin(std::string_view head) const {
  // During format detection the file has no name, and all formats are compared anyway.
  if (!is_strict_ && !context_.name.empty()) {
    const std::string other =
        certain_record_format({.bytes = std::string(head), .whole = is_whole()});
    if (!other.empty()) {
      return refuse(fmt::format("record 1: expected records of {}, got {}", name_, other));
    }
  }
  return RecordLayout{.record_bytes = record_bytes_};
}

LineKind LibCacheSimReader::parse(const char* record, RecordRequest& request) {
  request.offset = id_.value(record);
  request.time = time_.is_given() ? static_cast<Nanoseconds>(time_.value(record)) * kSecond
                                  : static_cast<Nanoseconds>(number() - 1);
  std::uint64_t size = size_.value(record);
  if (size_.is_signed() && ~size >> 32 == 0) size &= kMaxLength;
  const std::uint64_t value = value_.is_given() ? value_.value(record) : size;
  if (value_.is_given()) size += value;
  if (size > kMaxLength) [[unlikely]] {
    return bad(fmt::format("size: expected 0 to {} bytes, got {}", kMaxLength, size));
  }
  request.length = static_cast<std::uint32_t>(size);
  if (op_.is_given()) {
    const auto op = libcachesim_operation(op_.value(record));
    if (is_no_operation(op_.value(record))) count_unstated();
    if (!op) [[unlikely]]
      return bad(fmt::format("operation: there is no number {}", op_.value(record)));
    request.op = *op;
  }
  if (next_.is_given()) {
    std::string wrong =
        objection_to_next_access(static_cast<std::int64_t>(next_.value(record)), number());
    if (!wrong.empty()) [[unlikely]]
      return bad(std::move(wrong));
  }
  const bool is_empty = size == 0 || (value == 0 && request.op == Op::kRead);
  return is_empty ? LineKind::kFiltered : LineKind::kRequest;
}

}  // namespace mcsim
