#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// One JSON object a line, whose fields are mapped as columns. The first line has the names of the
// fields. If the key is an array, each of its elements is a reference.
class JsonlReader : public MappedReader<JsonlReader> {
 public:
  struct Params : ColumnMapping {};
  static constexpr ComponentInfo kInfo{
      "jsonl", "a JSON object a line, its fields mapped by parameters", "jsonlines.org"};

  JsonlReader(Params params, ReaderContext context);
  ~JsonlReader() override;

  static Guess guess(const Head& head) { return guess_by_lines<JsonlReader>(Fit::kPossible, head); }
  bool has_known_names() const override { return mapper_.is_bound(); }

  LineKind parse(std::string_view line, Requests& out);

 private:
  class Parser;

  // Takes all fields of a line as most writers print it: those of the first line in its order,
  // without escapes or nested objects. False for any other line, which the parser takes.
  bool take_flat(std::string_view line, FieldScanner& scan);
  // Passes a field to the mapper.
  void take(std::size_t column, std::string_view value, FieldScanner& scan);
  void check_missing(FieldScanner& scan);

  std::unique_ptr<Parser> parser_;
  std::vector<bool> taken_;          // by column
  bool has_array_ = false;           // the key is one
  std::vector<std::uint64_t> keys_;  // of it
  std::string padded_;               // a value that is not in the line as it is
};

}  // namespace mcsim
