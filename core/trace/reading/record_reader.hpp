#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/reading/record_fields.hpp"
#include "core/trace/reading/text.hpp"

// Base classes of the binary formats: records of one size, optionally behind a header.
namespace mcsim {

// The request in a record.
struct RecordRequest {
  static constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();
  Nanoseconds time = kNoTime;  // also of a filtered record, if it has one
  Op op = Op::kRead;
  std::uint64_t offset = 0;  // of an object, its key
  std::uint32_t length = 0;
  Nanoseconds response = -1;
  VmId vm = 0;
  std::uint32_t payload = 0;  // bytes between this record and the next
};

// A reader of records. `Format` derives from RecordReader<Format> and implements
//
//   absl::StatusOr<RecordLayout> begin(std::string_view head);
//   LineKind parse(const char* record, RecordRequest& request);
//
// begin() checks the first bytes of the file. parse() fills the request, counts a flush, or returns
// bad() or refuse(). take_payload(std::string_view), if there is one, is called with the payload
// behind the record. If a record may represent several requests, parse() is instead
//
//   LineKind parse(const char* record, Requests& out);
struct RecordLayout {
  std::size_t record_bytes = 0;
  std::size_t header_bytes = 0;
};

template <class Format>
class RecordReader : public RequestReader {
 public:
  // Whether records name their VM; otherwise all belong to the file's VM.
  static constexpr bool kHasVms = false;

  explicit RecordReader(ReaderContext context)
      : RequestReader(std::move(context), RecordUnit::kRecord), buffer_(kBuffer) {
    if constexpr (!Format::kHasVms) use_single_vm();
  }

  // Accepts a file that ends within a record, as the head of a longer file does.
  void expect_more() { is_head_ = true; }

  std::size_t record_bytes() const { return layout_.record_bytes; }
  std::size_t records_before_error() const { return static_cast<std::size_t>(number_ - failed_); }
  std::size_t unstated_operations() const { return unstated_; }
  // The fields of an object's id and its next access, if records have both.
  RecordField id_field() const { return {}; }
  RecordField next_field() const { return {}; }

 protected:
  // The maximum length of the head that begin() receives.
  static constexpr std::size_t kHead = 64 * 1024;

  // Whether the head that begin() receives is the complete file.
  bool is_whole() const { return is_whole_ && !is_head_; }

  // The number of the record being parsed, from 1.
  Count number() const { return number_; }

  LineKind bad(std::string complaint) {
    complaint_ = std::move(complaint);
    return LineKind::kBad;
  }

  LineKind bad(FieldScanner& scan) { return bad(scan.take_complaint()); }

  // Counts a record whose operation states nothing.
  void count_unstated() { ++unstated_; }

  // Stops reading at the record being parsed.
  LineKind refuse(const absl::Status& why) {
    refusal_ = absl::Status(why.code(), fmt::format("{}: {}", place(number_), message_of(why)));
    return LineKind::kRefused;
  }

  // Stops reading before the first record.
  absl::Status refuse(std::string_view complaint) const {
    return data_loss("{}{}{}", context_.name, context_.name.empty() ? "" : ": ", complaint);
  }

  // Checks the last record of a file that does not end within a record.
  virtual std::string objection_to_end() const { return ""; }

 private:
  static constexpr std::size_t kBuffer = 256 * 1024;
  static constexpr std::size_t kBatch = 1024;
  static_assert(kHead <= kBuffer);
  // The minimum length of the head that begin() receives if a pipe pauses for `kPatience`.
  static constexpr std::size_t kLeastHead = 4096;
  static constexpr std::chrono::milliseconds kPatience{1000};

  std::size_t size() const { return static_cast<std::size_t>(end_ - at_); }

  absl::Status fill(Requests& chunk) final {
    if (layout_.record_bytes == 0) MCSIM_RETURN_IF_ERROR(begin_file());
    if (layout_.record_bytes == 0) return absl::OkStatus();
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
    if (size() == 0) return absl::OkStatus();  // next() reports that there are no requests
    const std::string_view head(at_, std::min(size(), kHead));
    if (is_text(head)) return refuse("record 1: expected binary records, got text");
    if (const std::string packed = objection_to_packed(head); !packed.empty()) {
      return refuse("record 1: " + packed);
    }
    MCSIM_ASSIGN_OR_RETURN(layout_, static_cast<Format*>(this)->begin(head));
    skip(layout_.header_bytes);
    return absl::OkStatus();
  }

  // Skips bytes, including bytes not read yet.
  void skip(std::size_t bytes) {
    const std::size_t here = std::min(bytes, size());
    at_ += here;
    skip_ = bytes - here;
  }

  // Reads until `wanted` bytes are buffered or the file ends.
  absl::Status refill(std::size_t wanted) {
    while (size() < wanted && !source_ended_) {
      const std::size_t left = size();
      std::memmove(buffer_.data(), at_, left);
      at_ = buffer_.data();
      end_ = at_ + left;
      MCSIM_ASSIGN_OR_RETURN(const std::size_t got,
                             context_.source->read_some(std::span(buffer_).subspan(left)));
      source_ended_ = got == 0;
      end_ += got;
      skip(skip_);
    }
    return absl::OkStatus();
  }

  absl::Status check_end() {
    if (is_head_ || has_ended_) return absl::OkStatus();
    has_ended_ = true;
    if (skip_ > 0) {
      if (number_ == 0) return refuse(fmt::format("header: the file ends {} bytes before", skip_));
      return reject(number_, fmt::format("its data lack {} bytes: the file is cut short", skip_));
    }
    if (size() > 0) {
      return reject(number_ + 1, fmt::format("{} of {} bytes: the file is cut short", size(),
                                             layout_.record_bytes));
    }
    const std::string objection = objection_to_end();
    return objection.empty() ? absl::OkStatus() : reject(number_, objection);
  }

  absl::Status take(std::size_t records, Requests& chunk) {
    if constexpr (requires(Format format) { format.parse(at_, chunk); }) {
      return take_appended(records, chunk);
    } else {
      return take_single(records, chunk);
    }
  }

  absl::Status take_single(std::size_t records, Requests& chunk) {
    std::size_t used = chunk.size();
    resize(chunk, used + records);
    absl::Status status;
    for (; records > 0 && status.ok() && size() >= layout_.record_bytes; --records) {
      ++number_;
      RecordRequest request;
      const LineKind kind = static_cast<Format*>(this)->parse(at_, request);
      at_ += layout_.record_bytes;
      absl::Status loaded;
      if (request.payload > 0) {
        if constexpr (requires(Format format) { format.take_payload({}); }) {
          loaded = refill(request.payload);
          if (size() >= request.payload) {
            static_cast<Format*>(this)->take_payload({at_, request.payload});
          }
        }
        skip(request.payload);
      }
      if (kind == LineKind::kRequest) [[likely]] {
        chunk.time[used] = request.time;
        chunk.vm[used] = request.vm;
        chunk.op[used] = static_cast<std::uint8_t>(request.op);
        chunk.offset[used] = request.offset;
        chunk.length[used] = request.length;
        chunk.response[used] = request.response;
        ++used;
        status = check_order(number_, request.time);
      } else {
        status = count_other(kind);
        const bool has_time = kind == LineKind::kFiltered && request.time != request.kNoTime;
        if (has_time) status.Update(check_order(number_, request.time));
      }
      status.Update(loaded);
    }
    resize(chunk, used);
    return status;
  }

  absl::Status take_appended(std::size_t records, Requests& chunk) {
    for (; records > 0 && chunk.size() < kChunk; --records) {
      ++number_;
      const LineKind kind = static_cast<Format*>(this)->parse(at_, chunk);
      at_ += layout_.record_bytes;
      MCSIM_RETURN_IF_ERROR(kind == LineKind::kRequest ? check_order(number_, chunk.time.back())
                                                       : count_other(kind));
    }
    return absl::OkStatus();
  }

  // Counts a record that is not a request.
  absl::Status count_other(LineKind kind) {
    failed_ = kind == LineKind::kRefused || kind == LineKind::kBad ? 1 : 0;
    if (kind == LineKind::kRefused) return refusal_;
    if (kind == LineKind::kBad) return reject(number_, complaint_);
    if (kind == LineKind::kFiltered) count_filtered();
    return absl::OkStatus();
  }

  static void resize(Requests& chunk, std::size_t size) {
    chunk.time.resize(size), chunk.vm.resize(size), chunk.op.resize(size);
    chunk.offset.resize(size), chunk.length.resize(size), chunk.response.resize(size);
  }

  std::vector<char> buffer_;
  const char* at_ = buffer_.data();
  const char* end_ = buffer_.data();
  RecordLayout layout_;
  std::size_t skip_ = 0;  // bytes to skip that are not read yet
  Count number_ = 0;
  Count failed_ = 0;  // 1 if the last record was the error
  std::size_t unstated_ = 0;
  std::string complaint_;
  absl::Status refusal_;
  bool is_head_ = false;
  bool is_whole_ = false;
  bool source_ended_ = false;
  bool has_ended_ = false;
};

// The evidence that a file has a format of records.
enum class Proof : std::uint8_t {
  kMagic,    // a header with a number that only this format has: has_magic()
  kMarks,    // numbers in every record that few values can be
  kFields,   // operations, or next accesses that agree with the objects
  kRepeats,  // ordered times, and objects that occur again with the same size
};

// How many records of a head state a next access that is right.
struct NextAccesses {
  std::size_t right = 0;  // the object occurs there, or never again
  std::size_t wrong = 0;  // another object is there
  std::size_t beyond = 0;
};

// Counts next accesses, numbered from 0 or from 1, whichever fits better.
NextAccesses check_next_accesses(std::string_view head, std::size_t records,
                                 std::size_t record_bytes, const RecordField& id,
                                 const RecordField& next);

// The result of reading the head of a file in a format of records. Times may be unsorted.
struct RecordTrial {
  const char* format = "";
  Proof proof = Proof::kFields;
  bool is_whole = false;     // whether the head is the file
  absl::Status status;       // the objection
  std::size_t records = 0;   // before the objection
  std::size_t unstated = 0;  // records with an operation that means none
  std::optional<NextAccesses> next = {};
};

// Returns the fit of a format of records, in which `requests` are those before the objection.
Guess judge_records(const RecordTrial& trial, const Requests& requests);

// Returns the fit of a format of records by a reader that `make` returns.
template <class Make>
Guess guess_by_records(const char* format, const Head& head, Proof proof, const Make& make) {
  auto context = reading(head.bytes);
  if (!context.ok()) return {format, Fit::kNo, "", 0, context.status()};
  auto reader = make(*std::move(context));
  if (!head.whole) reader.expect_more();
  Requests chunk;
  const absl::Status status = reader.next(chunk);
  if (absl::IsResourceExhausted(status)) return {format, Fit::kNo, "", 0, status};
  RecordTrial trial{.format = format,
                    .proof = proof,
                    .is_whole = head.whole,
                    .status = status,
                    .records = reader.records_before_error(),
                    .unstated = reader.unstated_operations()};
  if (trial.records > 0 && reader.id_field().is_given() && reader.next_field().is_given()) {
    trial.next = check_next_accesses(head.bytes, trial.records, reader.record_bytes(),
                                     reader.id_field(), reader.next_field());
  }
  return judge_records(trial, chunk);
}

// Returns the fit by a reader with default parameters.
template <class Format>
Guess guess_by_records(const Head& head, Proof proof) {
  constexpr const char* kName = Format::kInfo.name;
  if constexpr (requires { Format::has_magic(head.bytes); }) {
    if (Format::has_magic(head.bytes)) return {kName, Fit::kCertain, ""};
  }
  return guess_by_records(kName, head, proof, [](ReaderContext context) {
    return Format(typename Format::Params{}, std::move(context));
  });
}

}  // namespace mcsim
