#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/trace/formats/layout.hpp"

// Text formats as data: text_formats.hpp has one TextFormat for each.
namespace mcsim {

enum class ColumnRole : std::uint8_t {
  kNone,  // behind the last column
  kIgnored,
  kTime,
  kVm,
  kOp,
  kOffset,
  kLength,
  kKey,
  kResponse,
  kRepeat
};

// A column, found by its position, or by its name if the format has a header.
struct FormatColumn {
  ColumnRole role = ColumnRole::kNone;
  TimeUnit time_unit = TimeUnit::kByName;
  LengthUnit length_unit = LengthUnit::kByName;
  const char* name = "";
  const char* other_name = nullptr;  // in files without `name`; "" if the column may be missing

  constexpr FormatColumn() = default;
  // NOLINTBEGIN(google-explicit-constructor): roles without units are columns
  constexpr FormatColumn(ColumnRole of, const char* called = "", const char* other = nullptr)
      : role(of), name(called), other_name(other) {}
  // NOLINTEND(google-explicit-constructor)
  constexpr FormatColumn(ColumnRole of, TimeUnit unit, const char* called = "",
                         const char* other = nullptr)
      : role(of), time_unit(unit), name(called), other_name(other) {}
  constexpr FormatColumn(ColumnRole of, LengthUnit unit, const char* called = "")
      : role(of), length_unit(unit), name(called) {}
};

// Columns of one role are joined: parts of a VM's name, or lengths to add. Operations are words
// separated by commas, as in ColumnMapping.
struct TextFormat {
  ComponentInfo info;
  char delimiter = ',';
  FormatColumn columns[9] = {};
  std::size_t column_count = 0;  // if there are more columns than those listed
  std::size_t optional = 0;      // the last columns, which only requests need
  bool allows_more = false;      // further columns are ignored
  const char* read = "";
  const char* write = "";
  const char* discard = "";
  const char* flush = "";
  const char* ignored = "";
  const char* where = "";            // rows to keep, as in ColumnMapping
  const char* header = "";           // the beginning of the line with column names, if there is one
  const char* numbered_header = "";  // a header above rows that begin with their numbers
  bool has_whole_times = false;      // fractions of the unit contradict the format
  bool has_integer_times = false;  // a point in the time, the first column, contradicts the format
  bool may_have_iso_times = false;
  Fit fit_without_point = Fit::kCertain;  // if the first line has no point

  constexpr bool has_names() const { return *columns[0].name != 0; }
};

// Returns the fit of a file that a reader of the format accepts.
Fit accepted_fit(const TextFormat& format, const Head& head);

// A reader of a format that finds columns by their positions.
class PositionsReader : public LayoutReader<PositionsReader> {
 public:
  PositionsReader(const TextFormat& format, ReaderContext context)
      : LayoutReader({}, std::move(context)), format_(format) {}

  LineKind parse(std::string_view line, Requests& out) {
    if (!mapper_.is_bound()) [[unlikely]] {
      if (const auto kind = begin(line)) return *kind;
    }
    if (format_.has_integer_times && !check_integer_time(line)) return LineKind::kBad;
    return parse_row(line, out);
  }

 private:
  // Binds the columns. Returns a kind if the line is not a row.
  std::optional<LineKind> begin(std::string_view line);
  bool check_integer_time(std::string_view line);

  const TextFormat& format_;
};

// A reader of a format that finds columns by names in the first line.
class NamesReader : public CsvReader {
 public:
  NamesReader(const TextFormat& format, ReaderContext context);

 private:
  void prepare(const std::vector<std::string>& names) override;

  const TextFormat& format_;
};

template <const TextFormat& format>
class TextFormatReader final
    : public std::conditional_t<format.has_names(), NamesReader, PositionsReader> {
  using Base = std::conditional_t<format.has_names(), NamesReader, PositionsReader>;

 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo = format.info;

  TextFormatReader(NoParams, ReaderContext context) : Base(format, std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<TextFormatReader>(accepted_fit(format, head), head);
  }
};

}  // namespace mcsim
