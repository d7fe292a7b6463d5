#include "core/trace/reading/row_mapper.hpp"

#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/suggest.hpp"
#include "core/trace/reading/column_names.hpp"
#include "core/trace/reading/iso_time.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kSectorBytes = 512;
constexpr std::string_view kNone = "none";
constexpr std::uint64_t kMostRepeats = 1'000'000;
constexpr std::uint64_t kMostDiscarded = std::uint64_t{1} << 50;

Nanoseconds nanoseconds_in(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return kSecond;
    case TimeUnit::kMilliseconds:
      return 1'000'000;
    case TimeUnit::kMicroseconds:
      return 1'000;
    case TimeUnit::kFiletime:
      return kFiletimeTick;
    default:
      return 1;
  }
}

std::uint64_t bytes_in(LengthUnit unit, Count block_bytes) {
  switch (unit) {
    case LengthUnit::kSectors:
      return kSectorBytes;
    case LengthUnit::kBlocks:
      return static_cast<std::uint64_t>(block_bytes);
    case LengthUnit::kByName:
    case LengthUnit::kBytes:
      break;
  }
  return 1;
}

// Whether a header is a field's own name: "time", or with a unit, "time_ms". "op_count" is not the
// field op, and "key_size" is not a key.
bool is_own_name(std::string_view header, std::string_view own) {
  if (!is_same_word(header.substr(0, own.size()), own)) return false;
  if (header.size() == own.size()) return true;
  if (header[own.size()] != '_') return false;
  const std::string_view unit = header.substr(own.size() + 1);
  const auto is_unit = [&](const auto& known) { return is_same_word(unit, known.first); };
  const bool is_size = own == "offset" || own == "length" || own == "size";
  return is_size ? std::ranges::any_of(Choices<LengthUnit>::names, is_unit)
                 : std::ranges::any_of(Choices<TimeUnit>::names, is_unit) &&
                       (own == "time" || own == "response");
}

bool is_position(const std::string& column) {
  return !column.empty() && std::ranges::all_of(column, absl::ascii_isdigit);
}

}  // namespace

absl::Status RowMapper::bind(std::vector<std::string> names, bool named, bool has_positions) {
  named_ = named;
  has_positions_ = has_positions;
  names_ = std::move(names);
  columns_.assign(names_.size(), {});
  const absl::Status status = bind_columns();
  if (!status.ok()) columns_.clear();
  return status;
}

absl::Status RowMapper::bind_columns() {
  words_ = OperationWords(mapping_.read, mapping_.write, mapping_.discard, mapping_.flush,
                          mapping_.ignored);
  const ColumnMapping defaults;
  const bool has_default_words =
      std::tie(mapping_.read, mapping_.write, mapping_.discard, mapping_.flush, mapping_.ignored) ==
      std::tie(defaults.read, defaults.write, defaults.discard, defaults.flush, defaults.ignored);
  if (has_default_words) words_.accept_rwbs();
  offset_unit_ = bytes_in(mapping_.offset_unit, mapping_.block_bytes);
  length_unit_ = bytes_in(mapping_.length_unit, mapping_.block_bytes);
  most_offset_ = kMaxOffset / offset_unit_;
  most_length_ = kMaxOffset / length_unit_;
  MCSIM_RETURN_IF_ERROR(bind_times());
  MCSIM_RETURN_IF_ERROR(bind_references());
  MCSIM_RETURN_IF_ERROR(assign(Role::kOp, mapping_.op, "op").status());
  joins_vm_ = mapping_.vm.find('+') != std::string::npos;
  for (const std::string& part : split_words(mapping_.vm, '+')) {
    MCSIM_ASSIGN_OR_RETURN(const auto vm, assign(Role::kVm, part, "vm"));
    if (!vm) reader_->use_single_vm();
  }
  if (!mapping_.classes.empty()) {
    MCSIM_RETURN_IF_ERROR(assign(Role::kClass, mapping_.classes, "classes").status());
  }
  if (!mapping_.repeat.empty()) {
    MCSIM_RETURN_IF_ERROR(assign(Role::kRepeat, mapping_.repeat, "repeat").status());
  }
  MCSIM_RETURN_IF_ERROR(bind_conditions());
  return named_ ? check_names() : absl::OkStatus();
}

absl::Status RowMapper::bind_times() {
  MCSIM_ASSIGN_OR_RETURN(const auto time, assign(Role::kTime, mapping_.time, "time"));
  MCSIM_ASSIGN_OR_RETURN(const auto response,
                         assign(Role::kResponse, mapping_.response, "response"));
  MCSIM_ASSIGN_OR_RETURN(time_unit_, unit_of(time, mapping_.time_unit, "time_unit"));
  MCSIM_ASSIGN_OR_RETURN(response_unit_,
                         unit_of(response, mapping_.response_unit, "response_unit"));
  if (response_unit_ == TimeUnit::kReferences || response_unit_ == TimeUnit::kIso) {
    return invalid_argument("response_unit: expected a unit of time");
  }
  has_clock_ = time && time_unit_ != TimeUnit::kReferences;
  constexpr std::array kDecimal{TimeUnit::kSeconds, TimeUnit::kMilliseconds,
                                TimeUnit::kMicroseconds, TimeUnit::kNanoseconds};
  time_scale_ = std::ranges::count(kDecimal, time_unit_) > 0 ? nanoseconds_in(time_unit_) : 0;
  return absl::OkStatus();
}

absl::Status RowMapper::bind_references() {
  std::optional<std::size_t> offset;
  if (mapping_.key.empty() || !mapping_.offset.empty()) {
    MCSIM_ASSIGN_OR_RETURN(offset, assign(Role::kOffset, mapping_.offset, "offset"));
  }
  std::optional<std::size_t> key;
  joins_key_ = mapping_.key.find('+') != std::string::npos;
  if (!offset || !mapping_.key.empty()) {
    for (const std::string& part : split_words(mapping_.key, '+')) {
      MCSIM_ASSIGN_OR_RETURN(key, assign(Role::kKey, part, "key"));
    }
  }
  has_keys_ = key.has_value();
  if (has_keys_ && offset) {
    return invalid_argument("key and offset: a trace has objects or blocks, so state one of them");
  }
  if (!has_keys_ && !offset) {
    return not_found(
        "offset: state the column{} (or key, if requests are for objects)",
        named_ ? fmt::format(", one of {}", fmt::join(names_, ", ")) : " by its position from 1");
  }
  for (const std::string& part : split_words(mapping_.length, '+')) {
    MCSIM_ASSIGN_OR_RETURN(auto length, assign(Role::kLength, part, "length"));
    if (!length && has_keys_ && part.empty()) {
      MCSIM_ASSIGN_OR_RETURN(length, assign(Role::kLength, "", "size"));
    }
    has_lengths_ = length.has_value();
  }
  return absl::OkStatus();
}

absl::Status RowMapper::check_names() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Role role = columns_[i].role;
    if (role == Role::kIgnored) unused.push_back(names_[i]);
    if (role == Role::kOffset && mapping_.offset_unit == LengthUnit::kByName) {
      MCSIM_RETURN_IF_ERROR(check_bytes("offset", names_[i]));
    }
    if (role == Role::kLength && mapping_.length_unit == LengthUnit::kByName) {
      MCSIM_RETURN_IF_ERROR(check_bytes("length", names_[i]));
    }
  }
  if (!mapping_.has_own_names) return absl::OkStatus();
  const auto lacks = [&](Role role, const std::string& stated) {
    return stated.empty() && std::ranges::count(columns_, role, &Column::role) == 0;
  };
  if (lacks(Role::kTime, mapping_.time)) MCSIM_RETURN_IF_ERROR(check_no_time(unused));
  if (lacks(Role::kOp, mapping_.op)) MCSIM_RETURN_IF_ERROR(check_no_operation(unused));
  if (!has_keys_ && lacks(Role::kLength, mapping_.length)) {
    MCSIM_RETURN_IF_ERROR(check_no_length(unused));
  }
  return absl::OkStatus();
}

absl::Status RowMapper::bind_conditions() {
  if (mapping_.where.empty()) return absl::OkStatus();
  for (const std::string& condition : split_words(mapping_.where, ',')) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos || equals == 0) {
      return invalid_argument("where: expected COLUMN=VALUE, got '{}'", condition);
    }
    const std::string column = split_words(condition.substr(0, equals), '=').front();
    MCSIM_ASSIGN_OR_RETURN(const auto position, position_of(column, "where"));
    if (columns_[*position].condition >= 0) {
      return invalid_argument("where: two conditions on column '{}'; A|B allows several values",
                              column);
    }
    columns_[*position].condition = static_cast<int>(conditions_.size());
    conditions_.push_back(split_words(condition.substr(equals + 1), '|'));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::size_t>> RowMapper::assign(Role role, const std::string& column,
                                                             std::string_view own_name) {
  if (column == kNone) return std::nullopt;
  MCSIM_ASSIGN_OR_RETURN(const auto position, position_of(column, own_name));
  if (!position) return position;
  if (columns_[*position].role != Role::kIgnored) {
    return invalid_argument("{}: column {} already has another meaning", own_name, *position + 1);
  }
  columns_[*position].role = role;
  return position;
}

absl::StatusOr<std::optional<std::size_t>> RowMapper::position_of(const std::string& column,
                                                                  std::string_view own_name) const {
  if (column.empty() && !mapping_.has_own_names) return std::nullopt;
  if (named_ && !(has_positions_ && is_position(column))) {
    auto found = column.empty() ? names_.end() : std::ranges::find(names_, column);
    if (found == names_.end()) {
      found = std::ranges::find_if(names_, [&](const std::string& name) {
        return column.empty() ? is_own_name(name, own_name) : is_same_word(name, column);
      });
    }
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  }
  if (is_position(column)) {
    const std::size_t position = column.size() < 6 ? std::stoul(column) : 0;
    if (position >= 1 && position <= names_.size()) return position - 1;
    return not_found("{}: no column {} among {}", own_name, column, names_.size());
  }
  if (column.empty()) return std::nullopt;
  if (!named_) {
    return not_found("{}: no column '{}': without a header give its position from 1", own_name,
                     column);
  }
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  return not_found("{}: no column '{}'{}; there are {}", own_name, column,
                   did_you_mean(column, known), fmt::join(names_, ", "));
}

absl::StatusOr<TimeUnit> RowMapper::unit_of(std::optional<std::size_t> position, TimeUnit stated,
                                            const char* parameter) const {
  if (!position) return TimeUnit::kNanoseconds;
  if (stated != TimeUnit::kByName) return stated;
  if (named_) {
    const std::string name = absl::AsciiStrToLower(names_[*position]);
    const std::string suffix = name.substr(name.rfind('_') + 1);
    for (const auto& [unit_name, unit] : Choices<TimeUnit>::names) {
      if (suffix == unit_name && suffix != name) return unit;
    }
  }
  if (std::string_view(parameter) == "time_unit") return TimeUnit::kByName;  // or by its values
  return invalid_argument("{}: state it (such as ms); the name of column {} does not show it",
                          parameter, *position + 1);
}

void RowMapper::take(std::size_t column, FieldScanner& scan) {
  const auto [role, condition] = columns_[column];
  if (condition >= 0) check_condition(condition, scan);
  // The operation, which may follow, decides whether the row needs it.
  if (is_reference(role) && scan.take_empty()) {
    if (!lacking_) lacking_ = column;
    return;
  }
  take_value(column, scan);
}

void RowMapper::take_value(std::size_t column, FieldScanner& scan) {
  const Role role = columns_[column].role;
  if (role == Role::kOffset) {
    row_.offset = scan.number("an offset", 0, most_offset_) * offset_unit_;
  } else if (role == Role::kLength) {
    const std::uint64_t length = scan.number("a length", 0, most_length_) * length_unit_;
    row_.length += length;
    if (row_.length < length) scan.complain("a length exceeds 64 bits");
  } else if (role == Role::kTime && time_scale_ > 0) {
    row_.time = scan.time("a time", time_scale_);
    if (mapping_.has_whole_times && row_.time % time_scale_ != 0) complain_of_fraction(scan);
  } else {
    take_other(role, scan);
  }
}

void RowMapper::complain_of_fraction(FieldScanner& scan) const {
  scan.complain(
      fmt::format("column {}: expected a time in whole {}, got a fraction: it may be in "
                  "another unit",
                  scan.column(), name_of(time_unit_)));
}

void RowMapper::check_condition(int condition, FieldScanner& scan) {
  if (is_filtered_) return;
  const std::string_view field = scan.peek();
  is_filtered_ = std::ranges::none_of(
      conditions_[static_cast<std::size_t>(condition)],
      [&](const std::string& pattern) { return matches_pattern(pattern, field); });
}

void RowMapper::take_other(Role role, FieldScanner& scan) {
  switch (role) {
    case Role::kIgnored:
      scan.text("a column");
      break;
    case Role::kTime:
      row_.time = take_time(scan);
      break;
    case Role::kVm:
      take_vm(scan);
      break;
    case Role::kOp:
      row_.op = take_operation(scan);
      break;
    case Role::kOffset:
    case Role::kLength:
      break;  // see take()
    case Role::kKey:
      if (joins_key_) {
        take_joined_key(scan);
      } else {
        row_.offset = take_key(scan, *reader_);
      }
      break;
    case Role::kResponse:
      if (!scan.take_empty()) {
        row_.response = response_time(scan, nanoseconds_in(response_unit_));
      }
      break;
    case Role::kClass:
      row_.of_class = static_cast<std::uint8_t>(scan.number("a class", 0, kMostClasses - 1));
      break;
    case Role::kRepeat:
      row_.repeat = scan.number("a repeat count", 0, kMostRepeats);
      break;
  }
}

Nanoseconds RowMapper::take_time(FieldScanner& scan) {
  if (time_unit_ == TimeUnit::kByName) {
    if (!parse_iso_time(scan.peek())) {
      has_unknown_unit_ = true;
      scan.text("a time");
      return 0;
    }
    time_unit_ = TimeUnit::kIso;
  }
  switch (time_unit_) {
    case TimeUnit::kFiletime:
      return filetime(scan);
    case TimeUnit::kIso:
      return scan.iso_time("a date and time");
    case TimeUnit::kReferences:
      return static_cast<Nanoseconds>(scan.number("a number of references", 0, kMaxOffset / 2));
    default:
      return 0;  // see take()
  }
}

void RowMapper::take_vm(FieldScanner& scan) {
  constexpr const char* kWhat = "the name of a VM";
  if (joins_vm_) {
    vm_.reset();
    append_vm_part(vm_name_, mcsim::vm_name(scan, kWhat));
    return;
  }
  const std::string_view name = scan.text(kWhat);
  if (name == last_vm_name_ && !name.empty()) return;
  vm_ = reader_->known_vm(name);
  if (vm_) {
    last_vm_ = *vm_;
    last_vm_name_ = name;
    return;
  }
  vm_name_ = name;
  check_vm_name(scan, kWhat, name);
}

// Parts are escaped as in a JSON pointer, so that different parts are different keys.
void RowMapper::take_joined_key(FieldScanner& scan) {
  const std::string_view part = scan.text("a key");
  if (!is_vm_name(part)) scan.complain_of("a key (UTF-8 without control characters)", part);
  if (!key_.empty()) key_ += '/';
  for (const char c : part) {
    if (c == '~' || c == '/') {
      key_ += c == '~' ? "~0" : "~1";
    } else {
      key_ += c;
    }
  }
}

Operation RowMapper::take_operation(FieldScanner& scan) {
  const std::string_view field = without_blanks(scan.text("an operation"));
  if (const auto operation = words_.find(field)) return *operation;
  scan.complain_of(words_.expected(), field);
  return Operation::kRead;
}

absl::StatusOr<RowMapper::Row> RowMapper::finish_row(FieldScanner& scan, Requests& out) {
  if (is_filtered_) return Row::kFiltered;
  if (has_unknown_unit_) {
    return invalid_argument(
        "time_unit: state it (such as ms; in commands --option time_unit=ms); the name and the "
        "values of its column do not show it");
  }
  if (scan.failed()) return Row::kRequest;
  if (row_.op == Operation::kFlush) return Row::kFlush;
  if (row_.op == Operation::kIgnored) return Row::kFiltered;
  if (lacking_) {
    static constexpr std::array<char, LineReader::kPadding> kEmpty{};
    scan.next_field({kEmpty.data(), 0}, *lacking_);
    take_value(*lacking_, scan);
  }
  if (scan.failed()) return Row::kRequest;
  if (row_.repeat == 0) return Row::kFiltered;
  // Without a length a request touches one block, whatever the block size.
  if (!has_lengths_) row_.length = has_keys_ ? 0 : 1;
  if (row_.length > kMaxLength && (has_keys_ || row_.op != Operation::kDiscard)) {
    scan.complain(fmt::format("a length of {} bytes exceeds 4 GiB", row_.length));
  }
  if (row_.length > kMostDiscarded) {
    scan.complain(fmt::format("a discard of {} bytes exceeds 1 PiB", row_.length));
  }
  if (!has_keys_ && row_.offset + row_.length < row_.offset) {
    scan.complain("offset + length exceeds 64 bits");
  }
  if (scan.failed()) return Row::kRequest;
  if (joins_key_) row_.offset = reader_->mention(key_);
  if (!vm_) {
    if (vm_name_ != last_vm_name_) {
      MCSIM_ASSIGN_OR_RETURN(last_vm_, reader_->vm_of(vm_name_));
      last_vm_name_ = vm_name_;
    }
    vm_ = last_vm_;
  }
  push(row_, *vm_, out);
  return Row::kRequest;
}

void RowMapper::push(const Fields& row, VmId vm, Requests& out) {
  const auto op = static_cast<Op>(row.op);
  const auto add = [&](std::uint64_t offset, std::uint64_t length) {
    out.push(row.time, vm, op, offset, static_cast<std::uint32_t>(length), row.response,
             row.of_class);
  };
  if (op != Op::kDiscard) {
    for (std::uint64_t k = 0; k < row.repeat; ++k) add(row.offset, row.length);
    repeated_ += static_cast<Count>(row.repeat - 1);
    if (!has_clock_) references_ += references_of(row) * static_cast<Count>(row.repeat);
    return;
  }
  // Cuts a long discard into pieces at block boundaries.
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 31;
  std::uint64_t offset = row.offset;
  std::uint64_t left = row.length;
  while (left > kMaxLength) {
    const std::uint64_t piece = kPiece - offset % kPiece;
    add(offset, piece);
    offset += piece;
    left -= piece;
  }
  add(offset, left);
}

Count RowMapper::references_of(const Fields& row) const {
  if (has_keys_) return 1;
  if (row.length == 0) return 0;
  const auto block = static_cast<std::uint64_t>(mapping_.block_bytes);
  return static_cast<Count>((row.offset + row.length - 1) / block - row.offset / block + 1);
}

}  // namespace mcsim
