#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// Delimited text whose columns are fixed.
struct TextLayout {
  char delimiter = ',';
  std::size_t columns = 0;
  bool allows_more = false;  // further columns are ignored
  const char* header = "";   // how the line with the names of the columns begins, if there is one
  Mapping mapping = {};      // with positions of columns
};

// A reader of such text. `Format` derives from LayoutReader<Format> and has
//
//   static constexpr ComponentInfo kInfo;
//   static TextLayout layout();
template <class Format>
class LayoutReader : public MappedReader<Format> {
 public:
  using Params = NoParams;

  LayoutReader(Params, ReaderContext context) : LayoutReader(Format::layout(), std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_lines<Format>(Fit::kCertain, head); }

  LineKind parse(std::string_view line, Requests& out) {
    if (is_first_) {
      is_first_ = false;
      const std::vector<std::string> names(layout_.columns);
      if (const absl::Status bound = this->mapper_.bind(names, false); !bound.ok()) {
        return this->refuse(bound);
      }
      if (layout_.header[0] != '\0' && begins_with_header(line)) return LineKind::kNothing;
    }
    FieldScanner scan(line, layout_.delimiter);
    this->mapper_.begin_row();
    for (std::size_t column = 0; column < layout_.columns; ++column) {
      this->mapper_.take(column, scan);
    }
    if (!layout_.allows_more) scan.finish();
    return this->finish_row(scan, out);
  }

 protected:
  LayoutReader(TextLayout layout, ReaderContext context)
      : MappedReader<Format>(layout.mapping, std::move(context)), layout_(std::move(layout)) {}

 private:
  bool begins_with_header(std::string_view line) const {
    const std::string_view header = layout_.header;
    return is_same_word(line.substr(0, header.size()), header);
  }

  TextLayout layout_;
  bool is_first_ = true;
};

}  // namespace mcsim
