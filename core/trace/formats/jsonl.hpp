#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// One JSON object a line, with fields mapped as columns. The first line defines the names of the
// fields. If the key is an array, each element is a reference. A field of a nested object has the
// names of both, as in "io.lba". Writers of protocol buffers leave out zeros: a nested operation
// that is missing is a read, a nested offset is 0, and a line without a nested length is filtered.
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

 protected:
  // Completes the mapping, and the names of the fields, which are those of the first line.
  virtual void prepare(std::vector<std::string>& /*names*/) {}
  // Counts a flush for each line in which this field is true; "" if there is none.
  void set_flush_field(std::string name) { flush_field_ = std::move(name); }

 private:
  class Parser;

  // Takes all fields of a line in the common layout: those of the first line, in its order, without
  // escapes or nested objects. Returns false for other lines, which need the parser.
  bool take_flat(std::string_view line, FieldScanner& scan);
  // Passes a field to the mapper.
  void take(std::size_t column, std::string_view value, FieldScanner& scan);
  // Returns false if the line is no request.
  bool check_missing(FieldScanner& scan);
  LineKind finish_line(FieldScanner& scan, Requests& out);

  std::unique_ptr<Parser> parser_;
  std::vector<bool> taken_;          // by column
  bool has_array_ = false;           // whether the key is an array
  std::vector<std::uint64_t> keys_;  // the elements of the array
  std::string flush_field_;
  bool is_flushed_ = false;
  std::string padded_;  // a value that the line does not contain literally
};

}  // namespace mcsim
