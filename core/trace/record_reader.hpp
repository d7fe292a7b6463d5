#pragma once

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/text.hpp"

// What the binary formats share: records of one size, behind a header of the format or none.
namespace mcsim {

using ByteOrder = boost::endian::order;

// Loads a number that is stored in that byte order.
template <class T, ByteOrder order = ByteOrder::little>
T number_at(const char* at) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, at, sizeof(T));
  return boost::endian::endian_load<T, sizeof(T), order>(bytes);
}

// The request that a record stands for.
struct RecordRequest {
  Nanoseconds time = 0;
  Op op = Op::kRead;
  std::uint64_t offset = 0;  // of an object, its key
  std::uint32_t length = 0;
  Nanoseconds response = -1;
};

// A reader of records. `Format` derives from RecordReader<Format> and has
//
//   absl::StatusOr<RecordLayout> begin(std::string_view head);
//   LineKind parse(const char* record, RecordRequest& request);
//
// begin() checks the first bytes of the file. parse() fills the request, counts a flush, or ends
// in bad().
struct RecordLayout {
  std::size_t record_bytes = 0;
  std::size_t header_bytes = 0;
};

template <class Format>
class RecordReader : public RequestReader {
 public:
  explicit RecordReader(ReaderContext context)
      : RequestReader(std::move(context), RecordUnit::kRecord), buffer_(kBuffer) {
    name_the_only_vm();
  }

  // Accepts a file that ends within a record, because it is the head of a longer one.
  void expect_more() { is_head_ = true; }

 protected:
  // Bytes of the head that begin() receives, if the file has so many.
  static constexpr std::size_t kHead = 64 * 1024;

  // Whether the head that begin() receives is all of the file.
  bool is_whole() const { return is_whole_ && !is_head_; }

  // The number of the record that is parsed, from 1.
  Count number() const { return number_; }

  LineKind bad(std::string complaint) {
    complaint_ = std::move(complaint);
    return LineKind::kBad;
  }

  absl::Status refuse(std::string_view complaint) const {
    return data_loss("{}{}{}", context_.name, context_.name.empty() ? "" : ": ", complaint);
  }

  // Checks the end of a file that ends with a whole record.
  virtual std::string objection_to_end() const { return ""; }

 private:
  static constexpr std::size_t kBuffer = 256 * 1024;
  static constexpr std::size_t kBatch = 1024;
  static_assert(kHead <= kBuffer);
  // Least part of the head that begin() receives, if a pipe pauses for `kPatience`.
  static constexpr std::size_t kLeastHead = 4096;
  static constexpr std::chrono::milliseconds kPatience{1000};

  std::size_t size() const { return static_cast<std::size_t>(end_ - at_); }

  absl::Status fill(Requests& chunk) final {
    if (layout_.record_bytes == 0) MCSIM_RETURN_IF_ERROR(begin_file());
    while (chunk.size() + kBatch <= this->full_chunk()) {
      if (size() < layout_.record_bytes) {
        if (chunk.size() > 0 && !context_.source->is_ready(std::chrono::milliseconds(0))) break;
        MCSIM_RETURN_IF_ERROR(refill(layout_.record_bytes));
      }
      const std::size_t records = std::min(kBatch, size() / layout_.record_bytes);
      if (records == 0) return check_end();
      MCSIM_RETURN_IF_ERROR(take(records, chunk));
    }
    return absl::OkStatus();
  }

  absl::Status begin_file() {
    do {
      MCSIM_RETURN_IF_ERROR(refill(std::min(size() + 1, kHead)));
    } while (size() < kHead && !source_ended_ &&
             (size() < kLeastHead || context_.source->is_ready(kPatience)));
    is_whole_ = source_ended_ && size() < kHead;
    if (size() == 0) return refuse("there are no requests in it");
    const std::string_view head(at_, std::min(size(), kHead));
    if (is_text(head)) return refuse("record 1: expected binary records, got text");
    MCSIM_ASSIGN_OR_RETURN(layout_, static_cast<Format*>(this)->begin(head));
    at_ += layout_.header_bytes;
    return absl::OkStatus();
  }

  // Reads more, until `wanted` bytes are there or the file ends.
  absl::Status refill(std::size_t wanted) {
    std::size_t filled = size();
    std::memmove(buffer_.data(), at_, filled);
    at_ = buffer_.data();
    end_ = at_ + filled;
    while (filled < wanted && !source_ended_) {
      MCSIM_ASSIGN_OR_RETURN(const std::size_t got,
                             context_.source->read_some(std::span(buffer_).subspan(filled)));
      source_ended_ = got == 0;
      filled += got;
      end_ += got;
    }
    return absl::OkStatus();
  }

  absl::Status check_end() {
    if (is_head_ || has_ended_) return absl::OkStatus();
    has_ended_ = true;
    if (size() > 0) {
      return reject(number_ + 1, fmt::format("{} of {} bytes: the file is cut short", size(),
                                             layout_.record_bytes));
    }
    const std::string objection = objection_to_end();
    return objection.empty() ? absl::OkStatus() : reject(number_, objection);
  }

  absl::Status take(std::size_t records, Requests& chunk) {
    std::size_t used = chunk.size();
    resize(chunk, used + records);
    absl::Status status;
    for (; records > 0 && status.ok(); --records, at_ += layout_.record_bytes) {
      ++number_;
      RecordRequest request;
      const LineKind kind = static_cast<Format*>(this)->parse(at_, request);
      if (kind == LineKind::kRequest) [[likely]] {
        chunk.time[used] = request.time;
        chunk.op[used] = static_cast<std::uint8_t>(request.op);
        chunk.offset[used] = request.offset;
        chunk.length[used] = request.length;
        chunk.response[used] = request.response;
        ++used;
        status = check_order(number_, request.time);
      } else if (kind == LineKind::kFiltered) {
        count_filtered();
      } else if (kind == LineKind::kBad) {
        status = reject(number_, complaint_);
      }
    }
    resize(chunk, used);
    return status;
  }

  static void resize(Requests& chunk, std::size_t size) {
    chunk.time.resize(size), chunk.vm.resize(size), chunk.op.resize(size);
    chunk.offset.resize(size), chunk.length.resize(size), chunk.response.resize(size);
  }

  std::vector<char> buffer_;
  const char* at_ = buffer_.data();
  const char* end_ = buffer_.data();
  RecordLayout layout_;
  Count number_ = 0;
  std::string complaint_;
  bool is_head_ = false;
  bool is_whole_ = false;
  bool source_ended_ = false;
  bool has_ended_ = false;
};

// The fit of a format of records: certain if a reader with default parameters takes all records of
// the head. Without a magic number the times must be in order, and a single record is no proof.
template <class Format>
Guess guess_by_records(const Head& head, bool has_magic) {
  auto context = reading(head.bytes);
  if (!context.ok()) return {Format::kInfo.name, Fit::kNo, "", 0, context.status()};
  if (!has_magic) context->on_unsorted = OnUnsorted::kError;
  Format reader(typename Format::Params{}, *std::move(context));
  if (!head.whole) reader.expect_more();
  Requests chunk;
  const absl::Status status = reader.next(chunk);
  const Fit fit = has_magic || chunk.size() > 1 ? Fit::kCertain : Fit::kPossible;
  if (status.ok()) return {Format::kInfo.name, fit, ""};
  if (absl::IsResourceExhausted(status)) return {Format::kInfo.name, Fit::kNo, "", 0, status};
  return {Format::kInfo.name, Fit::kNo, message_of(status), chunk.size()};
}

}  // namespace mcsim
