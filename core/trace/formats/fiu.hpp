#pragma once

#include <string>

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of FIU SyLab (Koller and Rangaswami, FAST'10), in the SNIA IOTTA repository. Nine
// columns separated by blanks:
//
//   time (ns), process id, process, sector (of 512 B), size (sectors), R|W, major, minor, MD5
//
// In files written by pandas, a header numbers the columns and each row begins with its number. The
// VM is major_minor.
class FiuReader final : public LayoutReader<FiuReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "fiu", "FIU: time in ns, pid, process, sector, size in sectors, R or W, major, minor, MD5",
      "Koller, Rangaswami: I/O Deduplication (FAST 2010)"};

  using LayoutReader::LayoutReader;

  LineKind parse(std::string_view line, Requests& out) {
    if (mapper_.is_bound()) return parse_row(line, out);
    const bool is_header = line == "\t0\t1\t2\t3\t4\t5\t6\t7\t8";
    if (const absl::Status status = use(layout(is_header ? 1 : 0)); !status.ok()) {
      return refuse(status);
    }
    return is_header ? LineKind::kNothing : parse_row(line, out);
  }

 private:
  static TextLayout layout(std::size_t before) {
    const auto column = [&](std::size_t number) { return std::to_string(before + number); };
    return {.delimiter = ' ',
            .columns = before + 9,
            .mapping = {.time = column(1),
                        .time_unit = TimeUnit::kNanoseconds,
                        .vm = column(7) + "+" + column(8),
                        .op = column(6),
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = column(4),
                        .offset_unit = LengthUnit::kSectors,
                        .length = column(5),
                        .length_unit = LengthUnit::kSectors,
                        .has_whole_times = true}};
  }
};

}  // namespace mcsim
