#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of a virtual desktop infrastructure (Lee et al., SYSTOR'17), in the SNIA IOTTA
// repository. Six columns, with a header:
//
//   time (s), response time (s), R|W, LUN, offset (bytes), size (bytes)
//
// Rows without R or W are not requests. The response time may be missing. The VM is the LUN.
class Systor17Reader final : public LayoutReader<Systor17Reader> {
 public:
  static constexpr ComponentInfo kInfo{
      "systor17", "SYSTOR '17: Timestamp, Response, IOType, LUN, Offset, Size",
      "Lee et al.: Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop "
      "Infrastructure (SYSTOR 2017)"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 6,
            .header = "Timestamp,Response,IOType,",
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kSeconds,
                        .vm = "4",
                        .op = "3",
                        .read = "R",
                        .write = "W",
                        .discard = "",
                        .flush = "",
                        .offset = "5",
                        .length = "6",
                        .response = "2",
                        .response_unit = TimeUnit::kSeconds,
                        .where = "3=?*"}};
  }
};

}  // namespace mcsim
