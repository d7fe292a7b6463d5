#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// Delimited text with fixed columns.
struct TextLayout {
  char delimiter = ',';
  std::size_t columns = 0;
  std::size_t optional = 0;    // the last columns, which only requests need
  bool allows_more = false;    // further columns are ignored
  ColumnMapping mapping = {};  // by positions of columns
};

// A reader of such text. `Format` derives from LayoutReader<Format> and has kInfo and parse(),
// which calls use() once and parse_row().
template <class Format>
class LayoutReader : public MappedReader<Format> {
 public:
  using Params = NoParams;

  explicit LayoutReader(Params, ReaderContext context)
      : MappedReader<Format>(ColumnMapping{}, std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_lines<Format>(Fit::kCertain, head); }

 protected:
  absl::Status use(TextLayout layout) {
    layout_ = std::move(layout);
    this->mapper_ = RowMapper(layout_.mapping, this);
    return this->mapper_.bind(std::vector<std::string>(layout_.columns), false);
  }

  LineKind parse_row(std::string_view line, Requests& out) {
    FieldScanner scan(line, layout_.delimiter);
    this->mapper_.begin_row();
    const std::size_t required = layout_.columns - layout_.optional;
    for (std::size_t column = 0; column < layout_.columns; ++column) {
      if (column >= required && scan.at_end() && !this->mapper_.needs(column)) continue;
      this->mapper_.take(column, scan);
    }
    if (!layout_.allows_more) scan.finish();
    const bool has_all = scan.at_end() && scan.column() >= static_cast<int>(required);
    if (this->mapper_.is_filtered() && !has_all) return this->bad(scan);
    return this->finish_row(scan, out);
  }

 private:
  TextLayout layout_;
};

}  // namespace mcsim
