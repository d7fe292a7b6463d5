#include "core/trace/formats/csv.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mcsim {
namespace {

constexpr std::uint64_t kSectorBytes = 512;

absl::StatusOr<char> delimiter_of(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text == "space") return ' ';
  if (text.size() == 1) return text.front();
  return invalid_argument("delimiter: expected one character, tab or space, got '{}'", text);
}

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
    case LengthUnit::kBytes:
      break;
  }
  return 1;
}

// Whether a header bears a field's own name: "time", or with a unit, "time_ms".
bool is_own_name(std::string_view header, std::string_view own) {
  return header == own || (header.starts_with(own) && header.substr(own.size()).starts_with('_'));
}

}  // namespace

absl::Status CsvReader::begin(std::string_view first_line) {
  MCSIM_ASSIGN_OR_RETURN(delimiter_, delimiter_of(params_.delimiter));
  read_words_ = absl::StrSplit(absl::AsciiStrToLower(params_.read), ',');
  write_words_ = absl::StrSplit(absl::AsciiStrToLower(params_.write), ',');
  offset_unit_ = bytes_in(params_.offset_unit, params_.block_bytes);
  length_unit_ = bytes_in(params_.length_unit, params_.block_bytes);

  FieldScanner scan(first_line, delimiter_);
  while (!scan.at_end()) header_.emplace_back(scan.text("a column"));
  roles_.assign(header_.size(), Role::kIgnored);

  MCSIM_ASSIGN_OR_RETURN(const auto time, assign(Role::kTime, params_.time, "time"));
  MCSIM_ASSIGN_OR_RETURN(const auto response,
                         assign(Role::kResponse, params_.response, "response"));
  MCSIM_ASSIGN_OR_RETURN(const auto offset, assign(Role::kOffset, params_.offset, "offset"));
  MCSIM_RETURN_IF_ERROR(assign(Role::kOp, params_.op, "op").status());
  MCSIM_ASSIGN_OR_RETURN(const auto length, assign(Role::kLength, params_.length, "length"));
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(params_.vm, '+'))) {
    MCSIM_ASSIGN_OR_RETURN(const auto vm, assign(Role::kVm, part, "vm"));
    if (!vm) name_the_only_vm();
  }
  if (!params_.classes.empty()) {
    MCSIM_RETURN_IF_ERROR(assign(Role::kClass, params_.classes, "classes").status());
  }
  if (!offset) {
    return invalid_argument("offset: state the column{}",
                            params_.header ? fmt::format(", one of {}", fmt::join(header_, ", "))
                                           : " by its position from 1");
  }
  MCSIM_ASSIGN_OR_RETURN(time_unit_, unit_of(time, params_.time_unit, "time_unit"));
  MCSIM_ASSIGN_OR_RETURN(response_unit_, unit_of(response, params_.response_unit, "response_unit"));
  if (response_unit_ == TimeUnit::kReferences) {
    return invalid_argument("response_unit: a response time has a clock, so not references");
  }
  has_clock_ = time && time_unit_ != TimeUnit::kReferences;
  has_lengths_ = length.has_value();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::size_t>> CsvReader::assign(Role role, const std::string& column,
                                                             std::string_view own_name) {
  MCSIM_ASSIGN_OR_RETURN(const auto position, position_of(column, own_name));
  if (!position) return position;
  if (roles_[*position] != Role::kIgnored) {
    return invalid_argument("{}: column {} already has another meaning", own_name, *position + 1);
  }
  roles_[*position] = role;
  return position;
}

absl::StatusOr<std::optional<std::size_t>> CsvReader::position_of(const std::string& column,
                                                                  std::string_view own_name) const {
  const bool is_position = !column.empty() && std::ranges::all_of(column, absl::ascii_isdigit);
  if (is_position) {
    const std::size_t position = column.size() < 6 ? std::stoul(column) : 0;
    if (position >= 1 && position <= header_.size()) return position - 1;
    return invalid_argument("{}: there is no column {} among {}", own_name, column, header_.size());
  }
  if (params_.header) {
    const auto found = std::ranges::find_if(header_, [&](const std::string& name) {
      return column.empty() ? is_own_name(name, own_name) : name == column;
    });
    if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
  }
  if (column.empty()) return std::nullopt;
  return invalid_argument("{}: there is no column '{}'{}", own_name, column,
                          params_.header ? fmt::format(" among {}", fmt::join(header_, ", "))
                                         : ": without a header give its position from 1");
}

absl::StatusOr<TimeUnit> CsvReader::unit_of(std::optional<std::size_t> position, TimeUnit stated,
                                            const char* parameter) const {
  if (!position) return TimeUnit::kNanoseconds;
  if (stated != TimeUnit::kByName) return stated;
  if (params_.header) {
    const std::string& name = header_[*position];
    const std::string suffix = name.substr(name.rfind('_') + 1);
    for (const auto& [unit_name, unit] : Choices<TimeUnit>::names) {
      if (suffix == unit_name && suffix != name) return unit;
    }
  }
  return invalid_argument("{}: state it (such as ms), for the name of column {} does not tell",
                          parameter, *position + 1);
}

LineKind CsvReader::parse(std::string_view line, Requests& out) {
  if (roles_.empty()) {
    if (const absl::Status status = begin(line); !status.ok()) return refuse(status);
    if (params_.header) return LineKind::kNothing;
  }
  FieldScanner scan(line, delimiter_);
  const Row row = row_of(scan);
  if (row.offset + row.length < row.offset) scan.complain("offset + length exceeds 64 bits");
  if (!scan.finish()) return bad(scan);
  VmId vm = 0;
  if (!vm_name_.empty()) {
    const auto numbered = vm_of(vm_name_);
    if (!numbered.ok()) return refuse(numbered.status());
    vm = *numbered;
  }
  out.push(row.time, vm, row.op, row.offset, static_cast<std::uint32_t>(row.length), row.response,
           row.of_class);
  if (!has_clock_) references_ += blocks_of(row.offset, row.length);
  return LineKind::kRequest;
}

CsvReader::Row CsvReader::row_of(FieldScanner& scan) {
  Row row{.time = references_};
  vm_name_.clear();
  for (const Role role : roles_) {
    switch (role) {
      case Role::kIgnored:
        scan.text("a column");
        break;
      case Role::kTime:
        row.time = time_of(scan);
        break;
      case Role::kVm:
        if (!vm_name_.empty()) vm_name_ += '_';
        vm_name_ += mcsim::vm_name(scan, "the name of a VM");
        break;
      case Role::kOp:
        row.op = op_of(scan);
        break;
      case Role::kOffset:
        row.offset = scan.number("an offset", 0, kMaxOffset / offset_unit_) * offset_unit_;
        break;
      case Role::kLength:
        row.length = scan.number("a length", 0, kMaxLength / length_unit_) * length_unit_;
        break;
      case Role::kResponse:
        row.response = response_time(scan, nanoseconds_in(response_unit_));
        break;
      case Role::kClass:
        row.of_class = static_cast<std::uint8_t>(scan.number("a class", 0, kMostClasses - 1));
        break;
    }
  }
  if (!has_lengths_) {
    const auto block = static_cast<std::uint64_t>(params_.block_bytes);
    row.length = block - row.offset % block;
  }
  return row;
}

Nanoseconds CsvReader::time_of(FieldScanner& scan) const {
  switch (time_unit_) {
    case TimeUnit::kFiletime:
      return filetime(scan);
    case TimeUnit::kReferences:
      return static_cast<Nanoseconds>(scan.number("a number of references", 0, kMaxOffset / 2));
    default:
      return scan.time("a time", nanoseconds_in(time_unit_));
  }
}

Op CsvReader::op_of(FieldScanner& scan) const {
  const std::string_view field = scan.text("an operation");
  std::string word(field);
  absl::AsciiStrToLower(&word);
  if (std::ranges::count(read_words_, word)) return Op::kRead;
  if (std::ranges::count(write_words_, word)) return Op::kWrite;
  scan.complain_of(fmt::format("{} (read) or {} (write)", fmt::join(read_words_, ", "),
                               fmt::join(write_words_, ", ")),
                   field);
  return Op::kRead;
}

Count CsvReader::blocks_of(std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return 0;
  const auto block = static_cast<std::uint64_t>(params_.block_bytes);
  return static_cast<Count>((offset + length - 1) / block - offset / block + 1);
}

}  // namespace mcsim
