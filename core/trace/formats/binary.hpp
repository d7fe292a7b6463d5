#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/trace/formats/csv.hpp"
#include "core/trace/reading/record_reader.hpp"

namespace mcsim {

// Records of a stated struct, behind a header of any kind. The fields are mapped as columns with
// positions from 1. Keys are 64-bit integers.
class BinaryReader final : public MappedReader<BinaryReader, RecordReader> {
 public:
  static constexpr bool kHasVms = true;
  struct Params : ColumnMapping {
    std::string record;
    Count skip_bytes = 0;
    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"record", &Params::record,
                    "the record as in Python's struct module: < or >, then types, as <IQI2x"},
              Field{"skip_bytes", &Params::skip_bytes, "bytes before the first record", 0,
                    1 << 30}},
          ColumnMapping::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      "binary", "records of a stated struct, their fields mapped by parameters",
      "Python's struct module; libCacheSim, binary"};

  BinaryReader(const Params& params, ReaderContext context)
      : MappedReader(params, std::move(context)),
        struct_(params.record),
        skip_bytes_(static_cast<std::size_t>(params.skip_bytes)) {}

  static Guess guess(const Head&) {
    return {kInfo.name, Fit::kNo, "the struct of its records must be stated"};
  }

  bool has_text_keys() const override { return false; }

  absl::StatusOr<RecordLayout> begin(std::string_view head);
  LineKind parse(const char* record, Requests& out);

 private:
  struct Column {
    RecordField field;
    std::size_t number;  // from 0
  };

  // Passes a field as text, which all roles accept.
  void take_text(const Column& column, const char* record, FieldScanner& scan);

  std::string struct_;
  std::size_t skip_bytes_;
  std::vector<Column> columns_;  // used columns only
  std::string text_;
};

}  // namespace mcsim
