#include "core/trace/reading/table_rows.hpp"

#include <algorithm>
#include <optional>

#include "core/base/guarded.hpp"
#include "core/base/quoted_for_message.hpp"
#include "core/trace/reading/number_text.hpp"

namespace mcsim {
namespace {

struct ValueText {
  std::size_t row;
  std::string& padded;

  template <class T>
  std::string_view operator()(std::span<const T> values) const {
    return padded_text(values[row], padded);
  }
  std::string_view operator()(const TextColumn& texts) const {
    const std::int64_t begin = texts.offsets[row];
    const auto size = static_cast<std::size_t>(texts.offsets[row + 1] - begin);
    padded.assign(reinterpret_cast<const char*>(texts.data.data()) + begin, size);
    padded.append(LineReader::kPadding, '\0');
    return std::string_view(padded).substr(0, size);
  }
};

// The number of values, none if offsets of texts are not sound.
struct ValueCount {
  template <class T>
  std::optional<std::size_t> operator()(std::span<const T> values) const {
    return values.size();
  }
  std::optional<std::size_t> operator()(const TextColumn& texts) const {
    const auto& offsets = texts.offsets;
    const bool is_sound = !offsets.empty() && offsets.front() >= 0 &&
                          std::ranges::is_sorted(offsets) &&
                          static_cast<std::size_t>(offsets.back()) <= texts.data.size();
    return is_sound ? std::optional(offsets.size() - 1) : std::nullopt;
  }
};

}  // namespace

absl::Status TableRows::check_columns(std::span<const ArrowColumn> columns,
                                      std::size_t rows) const {
  const std::size_t names = mapper_.names().size();
  if (columns.size() != names) {
    return invalid_argument("{}: expected {} columns, got {}", context_.name, names,
                            columns.size());
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!mapper_.uses(i)) continue;
    const auto values = std::visit(ValueCount(), columns[i].values);
    const std::size_t valid = columns[i].is_valid.empty() ? rows : columns[i].is_valid.size();
    if (values == rows && valid == rows) continue;
    return invalid_argument("{}: column '{}' is damaged: expected {} values", context_.name,
                            quoted_for_message(mapper_.names()[i]), rows);
  }
  return absl::OkStatus();
}

std::string_view TableRows::text_of(const ArrowColumn& column, std::size_t row) {
  return std::visit(ValueText{row, padded_}, column.values);
}

absl::Status TableRows::add(std::span<const ArrowColumn> columns, std::size_t rows, Requests& out) {
  MCSIM_RETURN_IF_ERROR(check_columns(columns, rows));
  return guarded(context_.name, [&] {
    absl::Status added;
    for (std::size_t row = 0; row < rows && added.ok(); ++row) added = add_row(columns, row, out);
    set_ids(out);
    MCSIM_RETURN_IF_ERROR(added);
    note_requests(static_cast<Count>(out.size()));
    return absl::OkStatus();
  });
}

absl::Status TableRows::add_row(std::span<const ArrowColumn> columns, std::size_t row,
                                Requests& out) {
  ++number_;
  FieldScanner scan;
  scan.set_names(&mapper_.names());
  mapper_.begin_row();
  std::optional<std::size_t> null;  // the first column without a value
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (!mapper_.uses(column)) continue;
    if (!columns[column].is_valid.empty() && columns[column].is_valid[row] == 0) {
      mapper_.take_missing(column);
      if (!mapper_.is_optional(column) && !null) null = column;
      continue;
    }
    scan.next_field(text_of(columns[column], row), column);
    mapper_.take(column, scan);
  }
  if (null && !mapper_.is_flush()) {
    scan.next_field("", *null);
    scan.text("a value");
    scan.complain_of("a value", "null");
  }
  const Count repeated_before = mapper_.repeated();
  const auto kind = mapper_.finish_row(scan, out);
  if (!kind.ok()) {
    return absl::Status(kind.status().code(),
                        fmt::format("{}: {}", place(number_), message_of(kind.status())));
  }
  if (*kind == RowMapper::Row::kFiltered) return count_filtered(), absl::OkStatus();
  if (scan.failed()) return reject(number_, scan.take_complaint());
  if (*kind == RowMapper::Row::kFlush) return count_flush(), absl::OkStatus();
  count_repeated(mapper_.repeated() - repeated_before);
  return check_order(number_, out.time.back());
}

}  // namespace mcsim
