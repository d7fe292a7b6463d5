#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// ASCII traces of MQSim (Tavakkol et al., FAST'18). Five columns separated by blanks:
//
//   time (ns, a whole number), device, sector (of 512 B), size (sectors), 0 (write) or 1 (read)
//
// The VM is the device.
class MqsimReader final : public LayoutReader<MqsimReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "mqsim", "MQSim ASCII: time in ns, device, sector, size in sectors, 0 (write) or 1",
      "Tavakkol et al.: MQSim (FAST 2018); src/exec/ASCII_Trace_Definition.h"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.delimiter = ' ',
            .columns = 5,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kNanoseconds,
                        .vm = "2",
                        .op = "5",
                        .read = "1",
                        .write = "0",
                        .discard = "",
                        .flush = "",
                        .offset = "3",
                        .offset_unit = LengthUnit::kSectors,
                        .length = "4",
                        .length_unit = LengthUnit::kSectors,
                        .has_whole_times = true}};
  }

  LineKind parse(std::string_view line, Requests& out) {
    FieldScanner scan(line, ' ');
    const std::string_view time = scan.peek();
    if (time.find('.') == std::string_view::npos) return LayoutReader::parse(line, out);
    scan.text("a time");
    scan.complain_of("a time (a whole number of ns)", time);
    return bad(scan);
  }
};

}  // namespace mcsim
