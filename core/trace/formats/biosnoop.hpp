#pragma once

#include <algorithm>

#include "core/trace/formats/layout.hpp"
#include "core/trace/formats/rwbs.hpp"

namespace mcsim {

// The output of biosnoop of BCC and of libbpf-tools. The first line names the columns, which are
// separated by blanks:
//
//   TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)
//
// More columns, such as QUE(ms), may be between or after them. A COMM may contain blanks. The VM is
// the DISK, and LAT the response time. biosnoop of bpfcc-tools prints discards
// and flushes as R. That of libbpf-tools prints D and F; its flushes have the sector -1.
class BiosnoopReader final : public LayoutReader<BiosnoopReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "biosnoop",
      "biosnoop: TIME(s), COMM, PID, DISK, T, SECTOR, BYTES, LAT(ms); that of bpfcc-tools prints "
      "discards and flushes as reads (R), that of libbpf-tools does not",
      "github.com/iovisor/bcc: tools/biosnoop_example.txt"};

  using LayoutReader::LayoutReader;

  LineKind parse(std::string_view line, Requests& out) {
    if (!mapper_.is_bound()) {
      const absl::Status status = begin(line);
      return status.ok() ? LineKind::kNothing : refuse(status);
    }
    FieldScanner scan(line, ' ');
    mapper_.begin_row();
    mapper_.take(0, scan);
    FieldScanner ahead = scan;
    std::size_t rest = 0;
    for (; !ahead.at_end(); ++rest) ahead.text("a column");
    // All fields that are not other columns belong to the name of the process.
    for (; rest > columns_ - kBehindComm; --rest) scan.text("a process");
    bool is_flushed = false;
    for (std::size_t column = kBehindComm; column < columns_; ++column) {
      const std::string_view field = column == type_ ? scan.peek() : "";
      const bool is_known = column > type_;
      const bool is_flush =
          mapper_.operation() == Operation::kFlush || mapper_.operation() == Operation::kIgnored;
      if (is_known && is_flush) {
        scan.text("a column");  // the sector of a flush may be -1
        continue;
      }
      mapper_.take(column, scan);
      if (column != type_) continue;
      check_rwbs(scan, field);
      is_flushed = field.starts_with('F');
    }
    const LineKind kind = finish_row(scan, out);
    if (is_flushed && kind == LineKind::kRequest) count_flush();
    return kind;
  }

 private:
  static constexpr std::size_t kBehindComm = 2;

  absl::Status begin(std::string_view header) {
    FieldScanner scan(header, ' ');
    std::vector<std::string> names;
    while (!scan.at_end()) names.emplace_back(scan.text("a column"));
    const auto column = [&](const char* name) {
      const auto found = std::ranges::find(names, name);
      return found == names.end() ? "0" : std::to_string(found - names.begin() + 1);
    };
    for (const char* name : {"TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"}) {
      if (column(name) == "0") {
        return data_loss("expected a header with {}, got '{}' in column 1", name,
                         quoted_for_message(header));
      }
    }
    columns_ = names.size();
    type_ = std::stoul(column("T")) - 1;
    const std::string latency = column("LAT(ms)");
    return use({.columns = columns_,
                .mapping = {.time = column("TIME(s)"),
                            .time_unit = TimeUnit::kSeconds,
                            .vm = column("DISK"),
                            .op = column("T"),
                            .read = kRwbsRead,
                            .write = kRwbsWrite,
                            .discard = kRwbsDiscard,
                            .flush = kRwbsFlush,
                            .ignored = kRwbsIgnored,
                            .offset = column("SECTOR"),
                            .offset_unit = LengthUnit::kSectors,
                            .length = column("BYTES"),
                            .response = latency == "0" ? "" : latency,
                            .response_unit = TimeUnit::kMilliseconds}});
  }

  std::size_t columns_ = 0;
  std::size_t type_ = 0;
};

}  // namespace mcsim
