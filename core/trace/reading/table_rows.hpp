#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/trace/reading/row_mapper.hpp"

namespace mcsim {

// Strings in Arrow's layout: string i is data[offsets[i] .. offsets[i + 1]).
struct TextColumn {
  std::span<const std::int64_t> offsets;
  std::span<const std::byte> data = {};
};

// A column of a table, borrowed.
struct ArrowColumn {
  std::variant<std::span<const std::int64_t>, std::span<const std::uint64_t>,
               std::span<const double>, TextColumn>
      values;
  std::span<const std::uint8_t> is_valid = {};  // empty: all are valid
};

// Converts the rows of tables to requests, with the same mapping as for text.
class TableRows final : public RequestReader {
 public:
  TableRows(ColumnMapping mapping, ReaderContext context)
      : RequestReader(std::move(context), RecordUnit::kRow), mapper_(std::move(mapping), this) {}

  absl::Status bind(std::vector<std::string> names) { return mapper_.bind(std::move(names), true); }
  // Whether add() needs the column.
  bool uses(std::size_t column) const {
    return column < mapper_.names().size() && mapper_.uses(column);
  }

  // Appends the requests of the next rows. Each name has a column; unused columns may be empty.
  // Fails with InvalidArgument if another column is not sound or has another number of rows.
  absl::Status add(std::span<const ArrowColumn> columns, std::size_t rows, Requests& out);

  TimeBase time_base() const override { return mapper_.time_base(); }
  TraceKind kind() const override { return mapper_.kind(); }
  bool has_lengths() const override { return mapper_.has_lengths(); }
  bool has_text_keys() const override { return kind() == TraceKind::kObjects; }

 private:
  // Returns no rows, since rows come from add(); next() only checks that there were requests.
  absl::Status fill(Requests&) override { return absl::OkStatus(); }
  absl::Status check_columns(std::span<const ArrowColumn> columns, std::size_t rows) const;
  absl::Status add_row(std::span<const ArrowColumn> columns, std::size_t row, Requests& out);
  // Returns the value as text, followed by LineReader::kPadding other bytes.
  std::string_view text_of(const ArrowColumn& column, std::size_t row);

  RowMapper mapper_;
  Count number_ = 0;  // of the row, from 1
  std::string padded_;
};

}  // namespace mcsim
