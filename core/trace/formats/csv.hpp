#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/trace/reading/row_mapper.hpp"

namespace mcsim {

// A reader that maps rows, such as lines, to requests by a RowMapper.
template <class Format, template <class> class Reader = TextReader>
class MappedReader : public Reader<Format> {
 public:
  MappedReader(ColumnMapping mapping, ReaderContext context)
      : Reader<Format>(std::move(context)), mapper_(std::move(mapping), this) {}

  TimeBase time_base() const override { return mapper_.time_base(); }
  TraceKind kind() const override { return mapper_.kind(); }
  bool has_lengths() const override { return mapper_.has_lengths(); }
  bool has_text_keys() const override { return kind() == TraceKind::kObjects; }

 protected:
  // Ends a row after its fields were taken.
  LineKind finish_row(FieldScanner& scan, Requests& out) {
    const Count repeated_before = mapper_.repeated();
    const auto row = mapper_.finish_row(scan, out);
    if (!row.ok()) return this->refuse(row.status());
    if (*row == RowMapper::Row::kFiltered) return LineKind::kFiltered;
    if (scan.failed()) return this->bad(scan);
    this->count_repeated(mapper_.repeated() - repeated_before);
    if (*row == RowMapper::Row::kRequest) return LineKind::kRequest;
    this->count_flush();
    return LineKind::kNothing;
  }

  RowMapper mapper_;
};

// Delimited text with mapped columns. Files written by `save` need no mapping. Empty lines and
// lines that begin with # are skipped; those with # are filtered once the columns are known.
class CsvReader : public MappedReader<CsvReader> {
 public:
  struct Params : ColumnMapping {
    std::string delimiter = ",";
    bool header = true;
    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"delimiter", &Params::delimiter,
                    "between columns: a character, tab, or space for runs of blanks"},
              Field{"header", &Params::header, "the first line has the names of the columns"}},
          ColumnMapping::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      "csv", "delimited text, its columns mapped by parameters",
      "RFC 4180, without line breaks in quotes; lines that begin with # are filtered"};

  CsvReader(Params params, ReaderContext context)
      : MappedReader(params, std::move(context)),
        delimiter_name_(std::move(params.delimiter)),
        header_(params.header) {}

  static Guess guess(const Head& head) { return guess_by_lines<CsvReader>(Fit::kPossible, head); }
  bool has_known_names() const override { return header_ && mapper_.is_bound(); }

  LineKind parse(std::string_view line, Requests& out);

 private:
  // Called with the names of the columns before they are mapped.
  virtual void prepare(const std::vector<std::string>& /*names*/) {}
  absl::Status begin(std::string_view first_line);

  std::string delimiter_name_;
  char delimiter_ = ',';
  bool header_;
};

}  // namespace mcsim
