#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/quoted_for_message.hpp"
#include "core/trace/reading/digits.hpp"
#include "core/trace/reading/reader.hpp"

// Base classes of the line-oriented formats: lines from a byte source, fields from a line, and the
// loop from lines to requests.
namespace mcsim {

// Returns lines one by one, without their end ("\n" or "\r\n"); the last line may lack it. Skips a
// UTF-8 byte order mark. A line is a view into the reader's buffer, valid until the next call;
// kPadding bytes after it can be read.
class LineReader {
 public:
  static constexpr std::size_t kLongestLine = 64 * 1024;
  static constexpr std::size_t kPadding = 64;  // as simdjson needs it

  LineReader(ByteSource* source, std::string name)
      : source_(source), name_(std::move(name)), buffer_(kBuffer + kPadding) {}

  // Returns false at the end of the file and after an error; unless `waits`, also if a pipe has no
  // whole line yet.
  bool next(bool waits = true) {
    while (true) {
      if (const void* found = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_))) {
        const char* newline = static_cast<const char*>(found);
        const std::ptrdiff_t size = newline - at_;
        const bool carriage_return = size > 0 && newline[-1] == '\r';
        line_ = {at_, static_cast<std::size_t>(carriage_return ? size - 1 : size)};
        if (line_.size() > kLongestLine) [[unlikely]]
          return refuse_long_line();
        at_ = newline + 1;
        ++number_;
        return true;
      }
      if (!waits && !source_->is_ready(std::chrono::milliseconds(0))) return false;
      if (!refill()) return false;
    }
  }

  std::string_view line() const { return line_; }
  Count number() const { return number_; }  // of line(), from 1
  const absl::Status& status() const { return status_; }

 private:
  static constexpr std::size_t kBuffer = 256 * 1024;
  static_assert(kLongestLine < kBuffer);

  // Reads more of the file and adds a newline if the last line lacks it.
  bool refill();
  bool refuse_long_line();

  ByteSource* source_;
  std::string name_;
  std::vector<char> buffer_;
  const char* at_ = buffer_.data();
  const char* end_ = buffer_.data();
  bool began_ = false;
  bool source_ended_ = false;
  std::string_view line_;
  Count number_ = 0;
  absl::Status status_;
};

// Takes the fields of a line from left to right. The first error becomes the complaint; the caller
// checks it once, at the end. Delimiter ' ' means runs of blanks. A field may be in double quotes,
// in which "" is a quote. A text that contains one is valid until the next such text.
class FieldScanner {
 public:
  static constexpr char kNoDelimiter = '\x1f';

  // `line` must come from a LineReader.
  explicit FieldScanner(std::string_view line = "", char delimiter = kNoDelimiter)
      : at_(line.data()), end_(line.data() + line.size()), delimiter_(delimiter) {
    if (delimiter_ == ' ') skip_blanks();
  }

  // Takes a whole number in [min, max]; `what` names the field in complaints.
  std::uint64_t number(const char* what, std::uint64_t min = 0,
                       std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t value = 0;
    const char* after = at_;
    if (at_ < end_ && read_digits(after, value) && at_boundary(after) && value >= min &&
        value <= max) [[likely]] {
      advance(after);
      return value;
    }
    return number_slowly(what, min, max);
  }

  // The field is valid until the next call of text() or peek().
  std::string_view text(const char* what) {
    if (at_ < end_ && *at_ != '"' && *at_ != ' ') [[likely]] {
      const char* after = at_;
      while (!at_boundary(after)) ++after;
      if (after == at_ || after[-1] != ' ') [[likely]] {
        const std::string_view field(at_, static_cast<std::size_t>(after - at_));
        advance(after);
        return field;
      }
    }
    return text_slowly(what);
  }

  // Takes a decimal number of `unit` nanoseconds (a power of ten) exactly, and drops fractions of a
  // nanosecond.
  Nanoseconds time(const char* what, Nanoseconds unit) {
    std::uint64_t whole = 0;
    std::uint64_t below_one = 0;
    Nanoseconds sum = 0;
    const char* after = at_;
    if (at_ < end_ && read_digits(after, whole)) [[likely]] {
      if (after < end_ && *after == '.') {
        const char* const digits = ++after;
        if (!read_digits(after, below_one)) return time_slowly(what, unit);
        below_one = scaled(below_one, after - digits, unit);
      }
      if (at_boundary(after) && below_one < kMaxTime &&
          !__builtin_mul_overflow(whole, unit, &sum) &&
          !__builtin_add_overflow(sum, below_one, &sum)) [[likely]] {
        advance(after);
        return sum;
      }
    }
    return time_slowly(what, unit);
  }

  // Takes an ISO 8601 date and time, in nanoseconds since 1970: 2016-02-22 19:00:00.25+01:00. Parts
  // from the right may be missing; a T may replace the blank. The default zone is UTC.
  Nanoseconds iso_time(const char* what);

  // Returns the field that the next call of text() takes.
  std::string_view peek();

  // Sets the names of the columns, for messages.
  void set_names(const std::vector<std::string>* names) { names_ = names; }
  // Continues with a separate field of the column, counted from 0; as text it keeps its blanks and
  // quotes. The LineReader::kPadding bytes
  // behind it must be readable, and the first of these must not be a digit.
  void next_field(std::string_view field, std::size_t column) {
    at_ = field.data();
    end_ = field.data() + field.size();
    column_ = static_cast<int>(column);
  }

  // Takes `fields` whole fields, including delimiters, if their text is `expected`.
  bool take_if(std::string_view expected, int fields) {
    if (at_ > end_ || expected.empty() || static_cast<std::size_t>(end_ - at_) < expected.size() ||
        std::memcmp(at_, expected.data(), expected.size()) != 0) {
      return false;
    }
    at_ += expected.size();
    column_ += fields;
    return true;
  }

  // Takes the next field if it is empty, or empty quotes.
  bool take_empty() {
    if (at_ > end_) return false;
    const bool is_quoted = end_ - at_ >= 2 && at_[0] == '"' && at_[1] == '"';
    const char* const after = is_quoted ? at_ + 2 : at_;
    if (!at_boundary(after)) return false;
    advance(after);
    return true;
  }

  bool at_end() const { return at_ > end_; }
  int column() const { return column_; }  // of the last field, from 1
  bool failed() const { return !complaint_.empty(); }
  std::string take_complaint() { return std::move(complaint_); }

  void complain(std::string complaint) {
    if (complaint_.empty()) complaint_ = std::move(complaint);
  }
  // The message "expected <what> in column <of the last field>, got '<got>'".
  void complain_of(std::string_view what, std::string_view got);

  // Returns true if there was no error and the whole line was taken.
  bool finish() {
    if (at_end() && !failed()) [[likely]]
      return true;
    complain_of_rest();
    return false;
  }

 private:
  bool is_delimiter(char c) const { return c == delimiter_ || (delimiter_ == ' ' && c == '\t'); }
  bool at_boundary(const char* p) const { return p == end_ || is_delimiter(*p); }

  void skip_blanks() {
    while (at_ < end_ && is_delimiter(*at_)) ++at_;
    if (at_ == end_) ++at_;
  }

  // Moves behind the field that ends at `after`, and behind its delimiter.
  void advance(const char* after) {
    ++column_;
    at_ = after + 1;
    if (delimiter_ == ' ' && at_ <= end_) skip_blanks();
  }

  static constexpr std::uint64_t kMaxTime = std::numeric_limits<Nanoseconds>::max();

  // `decimals` digits after the point, as a part of `unit`; kMaxTime if there are too many.
  static std::uint64_t scaled(std::uint64_t digits, std::ptrdiff_t decimals, Nanoseconds unit) {
    using digits_internal::kPowersOfTen;
    constexpr std::ptrdiff_t kDecimals = 9;
    if (decimals > kDecimals) return kMaxTime;
    if (unit == kSecond)
      return digits * kPowersOfTen[static_cast<std::size_t>(kDecimals - decimals)];
    return digits * static_cast<std::uint64_t>(unit) /
           kPowersOfTen[static_cast<std::size_t>(decimals)];
  }

  Nanoseconds time_slowly(const char* what, Nanoseconds unit);
  std::uint64_t number_slowly(const char* what, std::uint64_t min, std::uint64_t max);
  std::string_view text_slowly(const char* what);
  std::string_view quoted_text();
  void complain_of_rest();
  std::string column_text(int column) const;  // "column 5 (offset)"

  const char* at_;  // behind end_ after the last field
  const char* end_;
  char delimiter_;
  int column_ = 0;
  const std::vector<std::string>* names_ = nullptr;
  std::string complaint_;
  std::string unquoted_;  // a field with doubled quotes
};

// Whether the bytes are text: UTF-8 with no control characters except line ends and tabs. The last
// character may be truncated.
bool is_text(std::string_view bytes);

// Returns the text without blanks and tabs at its ends.
std::string_view without_blanks(std::string_view text);

// Takes a VM's name, or part of one.
std::string_view vm_name(FieldScanner& scan, const char* what);
// Complains if the last field is not a valid name.
void check_vm_name(FieldScanner& scan, const char* what, std::string_view name);

// Appends a part, behind an underscore, to the name of a VM that is joined from several. Escapes
// underscores in all parts but the first, so that different parts have different names.
void append_vm_part(std::string& name, std::string_view part);

// Takes the key of an object and returns its id.
std::uint64_t take_key(FieldScanner& scan, RequestReader& reader);

// Takes a Windows filetime, 100 ns since 1601, as nanoseconds since 1970.
inline constexpr Nanoseconds kFiletimeTick = 100;
Nanoseconds filetime(FieldScanner& scan);

// Takes a response time; -1 means unknown, whatever the unit.
inline Nanoseconds response_time(FieldScanner& scan, Nanoseconds unit) {
  const Nanoseconds time = scan.time("a response time", unit);
  if (time >= 0) [[likely]]
    return time;
  if (time != -unit)
    scan.complain("column " + std::to_string(scan.column()) +
                  ": a negative response time (-1 is none known)");
  return -1;
}

// The kind of a line.
enum class LineKind : std::uint8_t {
  kRequest,
  kNothing,
  kFiltered,  // not a request by definition of the format; counted
  kBad,       // skipped if the user wants that
  kRefused,   // stops reading
};

// A reader of lines. `Format` derives from TextReader<Format> and implements
//
//   LineKind parse(std::string_view line, Requests& out);
//
// which appends the requests of the line, or returns bad() or refuse(). Most lines are one request;
// a modified address (lackey), a list of keys (jsonl) and a repeat count are several. Empty lines
// are skipped.
template <class Format>
class TextReader : public RequestReader {
 public:
  explicit TextReader(ReaderContext context)
      : RequestReader(std::move(context), RecordUnit::kLine),
        lines_(context_.source.get(), context_.name) {}

 protected:
  LineKind bad(FieldScanner& scan) {
    complaint_ = scan.take_complaint();
    return LineKind::kBad;
  }

  LineKind refuse(const absl::Status& why) {
    refusal_ = absl::Status(why.code(),
                            fmt::format("{}: {}", this->place(lines_.number()), message_of(why)));
    return LineKind::kRefused;
  }

 private:
  absl::Status fill(Requests& chunk) final {
    while (chunk.size() < this->full_chunk() && lines_.next(chunk.size() == 0)) {
      if (lines_.line().empty()) continue;
      switch (static_cast<Format*>(this)->parse(lines_.line(), chunk)) {
        case LineKind::kRequest:
          MCSIM_RETURN_IF_ERROR(check_order(lines_.number(), chunk.time.back()));
          break;
        case LineKind::kNothing:
          break;
        case LineKind::kFiltered:
          count_filtered();
          break;
        case LineKind::kBad:
          MCSIM_RETURN_IF_ERROR(reject(lines_.number(), complaint_));
          break;
        case LineKind::kRefused:
          return refusal_;
      }
    }
    return lines_.status();
  }

  LineReader lines_;
  std::string complaint_;
  absl::Status refusal_;
};

// Returns the first whole lines of a file.
absl::StatusOr<std::string> first_lines(const Head& head);

// Returns a context for reading lines as a separate file.
absl::StatusOr<ReaderContext> reading(std::string lines);

// Returns the fit of a line-oriented format: `fit` if a reader with these parameters accepts the
// first lines.
template <class Format>
Guess guess_by_lines(Fit fit, const Head& head,
                     const typename Format::Params& params = typename Format::Params{}) {
  const auto lines = first_lines(head);
  if (!lines.ok()) return {Format::kInfo.name, Fit::kNo, message_of(lines.status())};
  auto context = reading(*lines);
  if (!context.ok()) return {Format::kInfo.name, Fit::kNo, "", 0, context.status()};
  Format reader(params, *std::move(context));
  const bool more = !head.whole || lines->size() < head.bytes.size();
  return guess_by_trial(Format::kInfo.name, fit, reader, more);
}

}  // namespace mcsim
