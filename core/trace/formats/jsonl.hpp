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
  struct Params : Mapping {};
  static constexpr ComponentInfo kInfo{
      "jsonl", "a JSON object a line, its fields mapped by parameters", "jsonlines.org"};

  JsonlReader(Params params, ReaderContext context);
  ~JsonlReader() override;

  static Guess guess(const Head& head) { return guess_by_lines<JsonlReader>(Fit::kPossible, head); }

  LineKind parse(std::string_view line, Requests& out);

 private:
  class Parser;

  // The field goes on to the mapper.
  void take(std::size_t column, std::string_view value, FieldScanner& scan);
  void check_missing(FieldScanner& scan);

  std::unique_ptr<Parser> parser_;
  std::vector<bool> taken_;          // by column
  std::vector<std::uint64_t> keys_;  // of an array
  std::string padded_;               // a value that is not in the line as it is
};

}  // namespace mcsim
