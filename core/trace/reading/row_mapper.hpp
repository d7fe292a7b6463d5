#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/trace/reading/operation_words.hpp"
#include "core/trace/reading/text.hpp"

namespace mcsim {

enum class TimeUnit : std::uint8_t {
  kByName,  // the suffix of the column's name: time_ms; or ISO dates as values
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kFiletime,    // 100 ns, since 1601
  kIso,         // 2016-02-22 19:00:00.5, with a zone or in UTC
  kReferences,  // no clock: the number of references before the request
};

template <>
struct Choices<TimeUnit> {
  static constexpr std::array names{
      std::pair{"by-name", TimeUnit::kByName},        std::pair{"s", TimeUnit::kSeconds},
      std::pair{"ms", TimeUnit::kMilliseconds},       std::pair{"us", TimeUnit::kMicroseconds},
      std::pair{"ns", TimeUnit::kNanoseconds},        std::pair{"filetime", TimeUnit::kFiletime},
      std::pair{"references", TimeUnit::kReferences}, std::pair{"iso", TimeUnit::kIso}};
};

enum class LengthUnit : std::uint8_t {
  kByName,  // bytes; an error if the column's name suggests another unit
  kBytes,
  kSectors,
  kBlocks
};

template <>
struct Choices<LengthUnit> {
  static constexpr std::array names{
      std::pair{"by-name", LengthUnit::kByName}, std::pair{"bytes", LengthUnit::kBytes},
      std::pair{"sectors", LengthUnit::kSectors}, std::pair{"blocks", LengthUnit::kBlocks}};
};

// Maps columns to fields. A column is given by its name, in any case, or by its position from 1.
// The default is the column with the field's own name (time_ns, vm, op, offset, length,
// response_ns, key, size); classes, repeat and where have no default.
struct ColumnMapping {
  std::string time = {};
  TimeUnit time_unit = TimeUnit::kByName;
  std::string vm = {};
  std::string op = {};
  std::string read = "read,r";
  std::string write = "write,w";
  std::string discard = "discard,trim,delete,unmap,d,t";
  std::string flush = "flush,sync,fsync,f";
  std::string ignored = {};  // operations that are not requests: their rows are filtered
  std::string offset = {};
  LengthUnit offset_unit = LengthUnit::kByName;
  std::string length = {};
  LengthUnit length_unit = LengthUnit::kByName;
  std::string key = {};
  std::string response = {};
  TimeUnit response_unit = TimeUnit::kByName;
  std::string classes = {};
  std::string repeat = {};
  std::string where = {};
  Count block_bytes = 4096;
  bool has_own_names = true;     // whether to find other columns by the field's own name
  bool has_whole_times = false;  // whether fractions of the unit contradict the format

  static constexpr auto fields() {
    return std::tuple{
        Field{"time", &ColumnMapping::time, "column of the time; none if there is none"},
        Field{"time_unit", &ColumnMapping::time_unit, "what the time counts"},
        Field{"vm", &ColumnMapping::vm,
              "column of the VM; 2+3 joins two by an underscore (in the second, _ becomes %5F)"},
        Field{"op", &ColumnMapping::op, "column of the operation; none if all are reads"},
        Field{"read", &ColumnMapping::read,
              "values of op that read, separated by commas, in any case; R* is a pattern; with the "
              "default words, letters of blktrace such as RA and WS are known, too"},
        Field{"write", &ColumnMapping::write, "values of op that write"},
        Field{"discard", &ColumnMapping::discard,
              "values of op that discard blocks or delete objects"},
        Field{"flush", &ColumnMapping::flush,
              "values of op that are flushes, which are only counted"},
        Field{"offset", &ColumnMapping::offset, "column of the offset"},
        Field{"offset_unit", &ColumnMapping::offset_unit,
              "what the offset counts; a sector is 512 B"},
        Field{"length", &ColumnMapping::length,
              "column of the length, or of the object's size; 3+4 adds two; none if there is none"},
        Field{"length_unit", &ColumnMapping::length_unit, "what the length counts"},
        Field{"key", &ColumnMapping::key,
              "column of the object's key: text or numbers; for object traces; 8+2 joins two by /"},
        Field{"response", &ColumnMapping::response, "column of the response time"},
        Field{"response_unit", &ColumnMapping::response_unit, "what the response time counts"},
        Field{"classes", &ColumnMapping::classes,
              "column of the request's class, from 0, which matters most, to 7"},
        Field{"repeat", &ColumnMapping::repeat,
              "column with the number of requests that a row stands for"},
        Field{"where", &ColumnMapping::where,
              "rows to keep: COLUMN=VALUE|PATTERN*, separated by commas; others are filtered"},
        Field{"block_bytes", &ColumnMapping::block_bytes, "bytes of a block", 1, 1 << 30},
    };
  }
};

// Converts rows with mapped columns to requests, from text, JSON and tables. A row is a call of
// begin_row(), of take() for each used column, and of finish_row(). An error in a row becomes the
// complaint of the last scanner.
class RowMapper {
 public:
  // The kind of a row.
  enum class Row : std::uint8_t { kRequest, kFiltered, kFlush };

  RowMapper(ColumnMapping mapping, RequestReader* reader)
      : mapping_(std::move(mapping)), reader_(reader) {}

  // Assigns the columns. `named`: the names come from a header and can be used in the mapping.
  // `has_positions`: a number in the mapping is a position, even if a header has it as a name.
  absl::Status bind(std::vector<std::string> names, bool named, bool has_positions = false);
  bool is_bound() const { return !columns_.empty(); }
  ColumnMapping& mapping() { return mapping_; }  // to change before bind()
  std::size_t column_count() const { return columns_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  bool uses(std::size_t column) const {
    return columns_[column].role != Role::kIgnored || columns_[column].condition >= 0;
  }
  // Whether the column alone is the key.
  bool is_key(std::size_t column) const {
    return columns_[column].role == Role::kKey && !joins_key_;
  }
  bool is_operation(std::size_t column) const { return columns_[column].role == Role::kOp; }
  bool is_offset(std::size_t column) const { return columns_[column].role == Role::kOffset; }
  bool is_length(std::size_t column) const { return columns_[column].role == Role::kLength; }
  // Whether a row with this operation needs a value in the column to be a request.
  bool needs(std::size_t column) const {
    if (row_.op == Operation::kFlush || row_.op == Operation::kIgnored) return false;
    const Role role = columns_[column].role;
    return role != Role::kLength ? !is_optional(column) : !has_keys_;
  }
  // Whether rows may lack a value in the column.
  bool is_optional(std::size_t column) const {
    const Role role = columns_[column].role;
    return role == Role::kIgnored || role == Role::kResponse || role == Role::kRepeat;
  }

  void begin_row() {
    row_ = {.time = references_};
    vm_ = last_vm_;
    vm_name_.clear();
    key_.clear();
    is_filtered_ = false;
    lacking_.reset();
  }
  // Takes the next field of the scanner, which belongs to the column.
  void take(std::size_t column, FieldScanner& scan);
  // Takes a 64-bit integer, signed or not, if the column is a time, offset, length, key or
  // operation that can have this value. Returns false if the value must be taken as text.
  bool take_integer(std::size_t column, std::uint64_t value, bool is_signed) {
    const auto [role, condition] = columns_[column];
    if (condition >= 0) return false;
    if (role == Role::kKey) return !joins_key_ && (set_key(value), true);
    if (is_signed && value > kMaxOffset / 2) return false;
    switch (role) {
      case Role::kTime:
        return time_scale_ > 0 && value <= kMaxOffset / 2 &&
               !__builtin_mul_overflow(static_cast<Nanoseconds>(value), time_scale_, &row_.time);
      case Role::kOffset:
        row_.offset = value * offset_unit_;
        return value <= most_offset_;
      case Role::kLength:
        if (value > kMaxLength) return false;
        row_.length += value * length_unit_;
        return true;
      case Role::kOp:
        return value < 10 && take_digit(static_cast<char>('0' + value));
      default:
        return false;
    }
  }
  // Handles a missing value: a condition on it fails.
  void take_missing(std::size_t column) { is_filtered_ |= columns_[column].condition >= 0; }
  // Whether the row is a flush, which needs no further column.
  bool is_flush() const { return row_.op == Operation::kFlush; }
  // Sets the id of the key instead of taking it.
  void set_key(std::uint64_t id) { row_.offset = id; }
  // Whether a condition of `where` failed; errors of the row then do not matter.
  bool is_filtered() const { return is_filtered_; }
  Operation operation() const { return row_.op; }
  // Appends the requests of a row without complaints.
  absl::StatusOr<Row> finish_row(FieldScanner& scan, Requests& out);

  TimeBase time_base() const { return has_clock_ ? TimeBase::kClock : TimeBase::kIndex; }
  TraceKind kind() const { return has_keys_ ? TraceKind::kObjects : TraceKind::kBlocks; }
  bool has_lengths() const { return has_lengths_; }
  // Further requests of rows with a repeat count.
  Count repeated() const { return repeated_; }

 private:
  enum class Role : std::uint8_t {
    kIgnored,
    kTime,
    kVm,
    kOp,
    kOffset,
    kLength,
    kKey,
    kResponse,
    kClass,
    kRepeat
  };
  struct Column {
    Role role = Role::kIgnored;
    int condition = -1;  // position in conditions_
  };
  struct Fields {
    Nanoseconds time = 0;
    Operation op = Operation::kRead;
    std::uint64_t offset = 0;  // or the id of a key
    std::uint64_t length = 0;
    Nanoseconds response = -1;
    std::uint64_t repeat = 1;
    std::optional<std::uint8_t> of_class = {};
  };

  // Assigns the role to the stated column, or else to the column with the field's own name; nullopt
  // if there is none.
  absl::StatusOr<std::optional<std::size_t>> assign(Role role, const std::string& column,
                                                    std::string_view own_name);
  absl::StatusOr<std::optional<std::size_t>> position_of(const std::string& column,
                                                         std::string_view own_name) const;
  absl::Status bind_columns();
  absl::Status bind_references();
  absl::Status bind_times();
  absl::Status check_names() const;
  absl::Status bind_conditions();
  absl::StatusOr<TimeUnit> unit_of(std::optional<std::size_t> position, TimeUnit stated,
                                   const char* parameter) const;
  bool is_reference(Role role) const {
    return role == Role::kOffset || role == Role::kLength || role == Role::kKey;
  }
  void take_value(std::size_t column, FieldScanner& scan);
  void complain_of_fraction(FieldScanner& scan) const;
  void check_condition(int condition, FieldScanner& scan);
  void take_other(Role role, FieldScanner& scan);
  bool take_digit(char operation) {
    const auto known = words_.find({&operation, 1});
    if (known) row_.op = *known;
    return known.has_value();
  }
  Nanoseconds take_time(FieldScanner& scan);
  void take_vm(FieldScanner& scan);
  void take_joined_key(FieldScanner& scan);
  Operation take_operation(FieldScanner& scan);
  void push(const Fields& row, VmId vm, Requests& out);
  Count references_of(const Fields& row) const;

  ColumnMapping mapping_;
  RequestReader* reader_;
  std::vector<std::string> names_;
  bool named_ = false;
  bool has_positions_ = false;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> conditions_;  // patterns; one of each list must match
  OperationWords words_;
  std::uint64_t offset_unit_ = 1;
  std::uint64_t length_unit_ = 1;
  std::uint64_t most_offset_ = kMaxOffset;  // in its unit
  std::uint64_t most_length_ = kMaxOffset;
  TimeUnit time_unit_ = TimeUnit::kNanoseconds;
  Nanoseconds time_scale_ = 0;  // nanoseconds of the unit, if it is a decimal one
  TimeUnit response_unit_ = TimeUnit::kNanoseconds;
  bool has_clock_ = false;
  bool has_keys_ = false;
  bool has_lengths_ = false;
  Count references_ = 0;
  Count repeated_ = 0;
  Fields row_;
  bool is_filtered_ = false;
  std::optional<std::size_t> lacking_;  // the first column with an empty reference
  bool has_unknown_unit_ = false;       // of the time
  bool joins_vm_ = false;               // the VM's name is joined from several columns
  bool joins_key_ = false;
  std::string key_;  // joined so far
  std::optional<VmId> vm_ = 0;
  std::string vm_name_;  // of a VM that may not have a number yet
  std::string last_vm_name_;
  VmId last_vm_ = 0;
};

}  // namespace mcsim
