#include "core/trace/formats/csv.hpp"

namespace mcsim {
namespace {

absl::StatusOr<char> delimiter_of(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text == "space") return ' ';
  if (text.size() == 1) return text.front();
  return invalid_argument("delimiter: expected one character, tab or space, got '{}'", text);
}

}  // namespace

absl::Status CsvReader::begin(std::string_view first_line) {
  MCSIM_ASSIGN_OR_RETURN(delimiter_, delimiter_of(delimiter_name_));
  FieldScanner scan(first_line, delimiter_);
  std::vector<std::string> names;
  while (!scan.at_end() && !scan.failed()) names.emplace_back(scan.text("a column"));
  if (scan.failed()) return absl::DataLossError(scan.take_complaint());
  prepare(names);
  return mapper_.bind(std::move(names), header_, true);
}

LineKind CsvReader::parse(std::string_view line, Requests& out) {
  if (line.front() == '#') return mapper_.is_bound() ? LineKind::kFiltered : LineKind::kNothing;
  if (!mapper_.is_bound()) {
    if (const absl::Status status = begin(line); !status.ok()) return refuse(status);
    if (header_) return LineKind::kNothing;
  }
  FieldScanner scan(line, delimiter_);
  if (header_) scan.set_names(&mapper_.names());
  mapper_.begin_row();
  for (std::size_t column = 0; column < mapper_.column_count(); ++column) {
    if (scan.at_end() && mapper_.is_flush()) break;
    mapper_.take(column, scan);
  }
  // Some writers end every line with a delimiter.
  if (!scan.at_end() && scan.peek().empty()) scan.text("");
  if (!mapper_.is_filtered()) scan.finish();
  return finish_row(scan, out);
}

}  // namespace mcsim
