#include "core/trace/formats/text_format.hpp"

#include <algorithm>
#include <span>

#include "core/trace/reading/iso_time.hpp"

namespace mcsim {
namespace {

std::string& column_of(ColumnMapping& mapping, ColumnRole role) {
  switch (role) {
    case ColumnRole::kTime:
      return mapping.time;
    case ColumnRole::kVm:
      return mapping.vm;
    case ColumnRole::kOp:
      return mapping.op;
    case ColumnRole::kOffset:
      return mapping.offset;
    case ColumnRole::kLength:
      return mapping.length;
    case ColumnRole::kKey:
      return mapping.key;
    case ColumnRole::kResponse:
      return mapping.response;
    default:
      return mapping.repeat;
  }
}

// Returns the mapping of the columns: by names, if `names` are those of the file, or by positions
// behind `before` other columns.
ColumnMapping mapping_of(const TextFormat& format, std::size_t before,
                         std::span<const std::string> names) {
  ColumnMapping mapping{.read = format.read,
                        .write = format.write,
                        .discard = format.discard,
                        .flush = format.flush,
                        .ignored = format.ignored,
                        .where = format.where,
                        .has_own_names = false,
                        .has_whole_times = format.has_whole_times};
  std::size_t position = before;
  for (const FormatColumn& column : format.columns) {
    ++position;
    if (column.role == ColumnRole::kNone || column.role == ColumnRole::kIgnored) continue;
    if (column.role == ColumnRole::kTime) mapping.time_unit = column.time_unit;
    if (column.role == ColumnRole::kResponse) mapping.response_unit = column.time_unit;
    if (column.role == ColumnRole::kOffset) mapping.offset_unit = column.length_unit;
    if (column.role == ColumnRole::kLength) mapping.length_unit = column.length_unit;
    const bool has_other =
        column.other_name != nullptr && std::ranges::count(names, column.name) == 0;
    const std::string name = has_other ? column.other_name : column.name;
    std::string& joined = column_of(mapping, column.role);
    if (!joined.empty()) joined += '+';
    joined += format.has_names() ? name : std::to_string(position);
  }
  return mapping;
}

std::size_t count_columns(const TextFormat& format) {
  if (format.column_count > 0) return format.column_count;
  const auto end = std::ranges::find(format.columns, ColumnRole::kNone, &FormatColumn::role);
  return static_cast<std::size_t>(end - std::begin(format.columns));
}

}  // namespace

Fit accepted_fit(const TextFormat& format, const Head& head) {
  const std::string_view line = std::string_view(head.bytes).substr(0, head.bytes.find('\n'));
  const bool has_point = line.find('.') != std::string_view::npos;
  return has_point ? Fit::kCertain : format.fit_without_point;
}

std::optional<LineKind> PositionsReader::begin(std::string_view line) {
  const std::string_view header = format_.header;
  const bool has_numbers = !line.empty() && line == format_.numbered_header;
  const std::size_t before = has_numbers ? 1 : 0;
  TextLayout layout{.delimiter = format_.delimiter,
                    .columns = count_columns(format_) + before,
                    .optional = format_.optional,
                    .allows_more = format_.allows_more,
                    .mapping = mapping_of(format_, before, {})};
  if (format_.may_have_iso_times) {
    FieldScanner scan(line, format_.delimiter);
    for (std::size_t i = 0; format_.columns[i].role != ColumnRole::kTime; ++i) scan.text("");
    if (parse_iso_time(scan.peek())) layout.mapping.time_unit = TimeUnit::kIso;
  }
  if (const absl::Status status = use(std::move(layout)); !status.ok()) return refuse(status);
  const bool is_header = !header.empty() && is_same_word(line.substr(0, header.size()), header);
  return is_header || has_numbers ? std::optional(LineKind::kNothing) : std::nullopt;
}

bool PositionsReader::check_integer_time(std::string_view line) {
  FieldScanner scan(line, format_.delimiter);
  const std::string_view time = scan.peek();
  if (time.find('.') == std::string_view::npos) return true;
  scan.text("a time");
  scan.complain_of(
      fmt::format("a time (a whole number of {})", name_of(format_.columns[0].time_unit)), time);
  bad(scan);
  return false;
}

NamesReader::NamesReader(const TextFormat& format, ReaderContext context)
    : CsvReader({mapping_of(format, 0, {}), std::string(1, format.delimiter)}, std::move(context)),
      format_(format) {}

void NamesReader::prepare(const std::vector<std::string>& names) {
  mapper_ = RowMapper(mapping_of(format_, 0, names), this);
}

}  // namespace mcsim
