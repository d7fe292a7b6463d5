#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/text.hpp"

namespace mcsim {

enum class TimeUnit : std::uint8_t {
  kByName,  // the column's name ends in the unit: time_ms
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kFiletime,    // 100 ns, since 1601
  kReferences,  // no clock: references before the request
};

template <>
struct Choices<TimeUnit> {
  static constexpr std::array names{
      std::pair{"by-name", TimeUnit::kByName},       std::pair{"s", TimeUnit::kSeconds},
      std::pair{"ms", TimeUnit::kMilliseconds},      std::pair{"us", TimeUnit::kMicroseconds},
      std::pair{"ns", TimeUnit::kNanoseconds},       std::pair{"filetime", TimeUnit::kFiletime},
      std::pair{"references", TimeUnit::kReferences}};
};

enum class LengthUnit : std::uint8_t { kBytes, kSectors, kBlocks };

template <>
struct Choices<LengthUnit> {
  static constexpr std::array names{std::pair{"bytes", LengthUnit::kBytes},
                                    std::pair{"sectors", LengthUnit::kSectors},
                                    std::pair{"blocks", LengthUnit::kBlocks}};
};

// Delimited text whose columns the user maps to those of a request. A column is
// given by its name in the header or its position from 1; left out, it is the
// one that bears the field's own name, if there is one. So the files mcsim
// writes itself need no mapping: time_ns,vm,op,offset,length,response_ns. Classes are
// what somebody says they are: a column of that name may be anything.
//
// Without a time column requests are numbered by the blocks referenced before
// them; without a length each ends where its block ends, so that it touches one
// block; without an operation, a read; without a VM, all are the file's.
class CsvReader final : public TextReader<CsvReader> {
 public:
  struct Params {
    std::string delimiter = ",";
    bool header = true;
    std::string time;
    TimeUnit time_unit = TimeUnit::kByName;
    std::string vm;
    std::string op;
    std::string read = "read,r";
    std::string write = "write,w";
    std::string offset;
    LengthUnit offset_unit = LengthUnit::kBytes;
    std::string length;
    LengthUnit length_unit = LengthUnit::kBytes;
    std::string response;
    TimeUnit response_unit = TimeUnit::kByName;
    std::string classes;
    Count block_bytes = 4096;

    static constexpr auto fields() {
      return std::tuple{
          Field{"delimiter", &Params::delimiter, "between columns: a character, tab, or space"},
          Field{"header", &Params::header, "the first line names the columns"},
          Field{"time", &Params::time, "column of the time"},
          Field{"time_unit", &Params::time_unit, "what the time counts"},
          Field{"vm", &Params::vm, "column of the VM; 2+3 joins two by an underscore"},
          Field{"op", &Params::op, "column of the operation"},
          Field{"read", &Params::read, "what says read there, separated by commas, in any case"},
          Field{"write", &Params::write, "what says write there"},
          Field{"offset", &Params::offset, "column of the offset"},
          Field{"offset_unit", &Params::offset_unit, "what the offset counts; a sector is 512 B"},
          Field{"length", &Params::length, "column of the length"},
          Field{"length_unit", &Params::length_unit, "what the length counts"},
          Field{"response", &Params::response, "column of the response time"},
          Field{"response_unit", &Params::response_unit, "what the response time counts"},
          Field{"classes", &Params::classes,
                "column of the request's class, from 0, which matters most, to 7"},
          Field{"block_bytes", &Params::block_bytes, "bytes of a block", 1, 1 << 30},
      };
    }
  };
  static constexpr ComponentInfo kInfo{"csv", "delimited text, its columns mapped by parameters",
                                       "RFC 4180, without line breaks in quotes"};

  CsvReader(Params params, ReaderContext context)
      : TextReader(std::move(context)), params_(std::move(params)) {}

  static Guess guess(const Head& head) { return guess_by_lines<CsvReader>(Fit::kPossible, head); }

  TimeBase time_base() const override { return has_clock_ ? TimeBase::kClock : TimeBase::kIndex; }
  bool has_lengths() const override { return has_lengths_; }

  LineKind parse(std::string_view line, Requests& out);

 private:
  enum class Role : std::uint8_t { kIgnored, kTime, kVm, kOp, kOffset, kLength, kResponse, kClass };

  // What the columns of a line say; what they do not say is as it is here. The VM's name goes
  // to vm_name_.
  struct Row {
    Nanoseconds time = 0;
    Op op = Op::kRead;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Nanoseconds response = -1;
    std::optional<std::uint8_t> of_class = {};
  };

  // Reads the mapping against the first line.
  absl::Status begin(std::string_view first_line);

  // Gives the stated column, or else the one of the field's own name, its role;
  // nullopt if there is none.
  absl::StatusOr<std::optional<std::size_t>> assign(Role role, const std::string& column,
                                                    std::string_view own_name);
  absl::StatusOr<std::optional<std::size_t>> position_of(const std::string& column,
                                                         std::string_view own_name) const;
  absl::StatusOr<TimeUnit> unit_of(std::optional<std::size_t> position, TimeUnit stated,
                                   const char* parameter) const;

  Row row_of(FieldScanner& scan);
  Nanoseconds time_of(FieldScanner& scan) const;
  Op op_of(FieldScanner& scan) const;
  Count blocks_of(std::uint64_t offset, std::uint64_t length) const;

  Params params_;
  char delimiter_ = ',';
  std::vector<std::string> header_;  // fields of the first line
  std::vector<Role> roles_;          // of each column; none before the first line
  std::vector<std::string> read_words_;
  std::vector<std::string> write_words_;
  std::uint64_t offset_unit_ = 1;
  std::uint64_t length_unit_ = 1;
  TimeUnit time_unit_ = TimeUnit::kNanoseconds;
  TimeUnit response_unit_ = TimeUnit::kNanoseconds;
  bool has_clock_ = false;
  bool has_lengths_ = false;
  Count references_ = 0;
  std::string vm_name_;
};

}  // namespace mcsim
